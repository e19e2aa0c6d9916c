"""Which IP addresses are public, and what the others are. Pure: names are resolved elsewhere.

Own tables, after the registries of special-purpose addresses: the standard library's answers differ between versions, and it
takes several addresses that lead to this machine for public ones. What isn't known to be public isn't.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

NOT_AN_ADDRESS = "no address"

_IPV4 = [
    (IPv4Network(network), what)
    for network, what in (
        ("100.100.100.200/32", "metadata"),  # Alibaba Cloud's, among what carriers share
        ("168.63.129.16/32", "metadata"),  # Azure's, which looks public
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared"),  # between a carrier and its customers
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),  # where clouds keep what machines may know of themselves
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
]

_IPV6 = [
    (IPv6Network(network), what)
    for network, what in (
        ("fd00:ec2::254/128", "metadata"),  # of AWS, Google, Oracle and Scaleway, among private addresses
        ("fd20:ce::254/128", "metadata"),
        ("fd00:c1::a9fe:a9fe/128", "metadata"),
        ("fd00:42::42/128", "metadata"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("64:ff9b:1::/48", "translated"),  # to IPv4, by rules of the network's own
        ("2001::/32", "tunnel"),  # Teredo: leads to an IPv4 address of its own choice
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "tunnel"),  # 6to4: likewise
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
]

_IPV6_PUBLIC = IPv6Network("2000::/3")
_IPV4_WITHIN = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))  # mapped, and as networks without IPv4 write it


def classify_address(address: str) -> str:
    """Return the special purpose of an address; empty for a public one. Other spellings, such as `127.1`, are "no address"."""
    try:
        found = ip_address(address)
    except ValueError:
        return NOT_AN_ADDRESS
    if isinstance(found, IPv4Address):
        return _classify_ipv4(found)
    return "link-local" if found.scope_id is not None else _classify_ipv6(found)


def _classify_ipv4(address: IPv4Address) -> str:
    return next((what for network, what in _IPV4 if address in network), "")


def _classify_ipv6(address: IPv6Address) -> str:
    if any(address in network for network in _IPV4_WITHIN):
        return _classify_ipv4(IPv4Address(int(address) & 0xFFFFFFFF))
    beyond = "" if address in _IPV6_PUBLIC else "reserved"
    return next((what for network, what in _IPV6 if address in network), beyond)
