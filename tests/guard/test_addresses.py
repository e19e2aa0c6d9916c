"""No address that leads to this machine, or to its surroundings, counts as public."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.guard.addresses import classify_address

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.31.196.1",
    "198.17.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:830::200e",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]
SPECIAL = {
    "metadata": "100.100.100.200 168.63.129.16 fd00:ec2::254 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42 ::ffff:100.100.100.200",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fdff::1 ::ffff:10.0.0.1 64:ff9b::a00:1",
    "loopback": "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 ::FFFF:7f00:1 64:ff9b::7f00:1 64:ff9b::127.0.0.1",
    "link-local": "169.254.169.254 169.254.0.1 fe80::1 fe80::1%eth0 2606:4700::1%1 ::1%lo ::ffff:169.254.169.254",
    "shared": "100.64.0.1 100.127.255.255 ::ffff:100.64.0.1",
    "unspecified": "0.0.0.0 0.255.255.255 :: ::ffff:0.0.0.0 64:ff9b::",
    "documentation": "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1",
    "benchmarking": "198.18.0.1 198.19.255.255",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1 ff0e::1 ::ffff:224.0.0.1",
    "reserved": "192.0.0.192 192.0.0.9 192.88.99.1 240.0.0.1 255.255.255.255 ::127.0.0.1 ::7f00:1"
    " ::ffff:0:7f00:1 100::1 2001:2::1 2001:10::1 4000::1 5f00::1 fe00::1",
    "translated": "64:ff9b:1::7f00:1 64:ff9b:1:ffff::808:808",
    "tunnel": "2002:7f00:1:: 2002:808:808::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "site-local": "fec0::1 feff::1",
}
NO_ADDRESS = [
    "",
    "127.1",
    "127.0.1",
    "0",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "127.0.0.1 ",
    " 127.0.0.1",
    "[::1]",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
    "\u0661\u0662\u0667.\u0660.\u0660.\u0661",
    "127.0.0.1%eth0",
    "127.0.0.1/8",
    "localhost",
    "example.com",
    "::1\n",
    "::gggg",
    "1.2.3.4.5",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_nothing_special(address):
    assert classify_address(address) == ""


@pytest.mark.parametrize(
    ("what", "address"), [(what, address) for what, addresses in SPECIAL.items() for address in addresses.split()]
)
def test_what_is_special_is_said(what, address):
    assert classify_address(address) == what


@pytest.mark.parametrize("text", NO_ADDRESS, ids=ascii)
def test_what_the_system_might_take_for_an_address_is_none(text):
    assert classify_address(text) == "no address"


@given(st.ip_addresses(v=4) | st.integers(0, 2**32 - 1).map(IPv4Address))
def test_no_ipv4_address_is_public_that_the_standard_library_knows_better(address):
    if not classify_address(str(address)):
        assert address.is_global
        assert not any((address.is_multicast, address.is_reserved, address.is_unspecified, address.is_link_local))


@given(st.ip_addresses(v=6) | st.integers(0, 2**128 - 1).map(IPv6Address))
def test_no_ipv6_address_is_public_that_the_standard_library_knows_better(address):
    within = address.ipv4_mapped
    if within is not None:
        assert classify_address(str(address)) == classify_address(str(within))
    elif not classify_address(str(address)) and not address.exploded.startswith("0064:ff9b:0000:"):
        assert address.is_global
        assert address.sixtofour is None
        assert address.teredo is None
        assert not any((address.is_multicast, address.is_reserved, address.is_site_local))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_of_another_spelling_is_what_it_is_by_itself(address):
    for spelling in (f"::ffff:{address}", f"64:ff9b::{address}", f"::FFFF:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}"):
        assert classify_address(spelling) == classify_address(str(address))
    assert classify_address(f"2002:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}::") == "tunnel"
    assert classify_address(f"::{address}")


@given(st.text())
def test_any_text_is_an_address_of_the_standard_library_or_none(text):
    try:
        ip_address(text)
    except ValueError:
        assert classify_address(text) == "no address"
    else:
        assert classify_address(text) != "no address"
