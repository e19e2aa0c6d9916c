"""AWS: credentials and regions come from where AWS's own programs find them, and signatures are those that botocore makes."""

import asyncio
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.models.wires.aws_auth import AwsCredentials, AwsSigner, load_aws_credentials, load_aws_region

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}
FILE = """
[default]
aws_access_key_id = AKDEFAULT
aws_secret_access_key = of-the/default+

# another one
[work]
aws_access_key_id=AKWORK
aws_secret_access_key=50%off
aws_session_token = token
s3 =
  max_concurrent_requests = 20
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".aws").mkdir()
    return tmp_path


def environment(home, **values):
    return {"HOME": str(home), **values}


# Credentials


def test_credentials_come_from_the_environment(home):
    assert load_aws_credentials(environment(home, **KEYS)) == AwsCredentials("AKID", "secret")
    assert load_aws_credentials(environment(home, **KEYS, AWS_SESSION_TOKEN=" t \n")) == AwsCredentials("AKID", "secret", "t")


def test_credentials_come_from_the_profile_that_is_named(home):
    (home / ".aws" / "credentials").write_text(FILE)
    assert load_aws_credentials(environment(home)) == AwsCredentials("AKDEFAULT", "of-the/default+")
    assert load_aws_credentials(environment(home, AWS_PROFILE="work")) == AwsCredentials("AKWORK", "50%off", "token")
    assert load_aws_credentials(environment(home, AWS_PROFILE="nobody")) is None


def test_a_profile_takes_nothing_from_the_default_one(home):
    (home / ".aws" / "credentials").write_text("[default]\naws_access_key_id=a\naws_secret_access_key=b\n[sso]\nregion=eu-west-1\n")
    assert load_aws_credentials(environment(home, AWS_PROFILE="sso")) is None


def test_the_environment_outweighs_a_profile(home):
    (home / ".aws" / "credentials").write_text(FILE)
    assert load_aws_credentials(environment(home, **KEYS, AWS_PROFILE="work")) == AwsCredentials("AKID", "secret")


@pytest.mark.parametrize("written", ["{home}/elsewhere", "~/elsewhere"])
def test_the_credentials_file_may_be_elsewhere(home, written):
    (home / "elsewhere").write_text(FILE)
    named = environment(home, AWS_SHARED_CREDENTIALS_FILE=written.format(home=home))
    assert load_aws_credentials(named) == AwsCredentials("AKDEFAULT", "of-the/default+")


def test_there_may_be_no_credentials_at_all(tmp_path):
    assert load_aws_credentials(environment(tmp_path)) is None


@pytest.mark.parametrize("present", KEYS)
def test_half_of_a_key_is_an_error(home, present):
    with pytest.raises(SettingsError, match=f"{present} is set"):
        load_aws_credentials(environment(home, **{present: "x"}))


@pytest.mark.parametrize("content", [b"no section\n", b"[default\n", b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(home, content):
    (home / ".aws" / "credentials").write_bytes(content)
    with pytest.raises(SettingsError, match=r"\.aws/credentials can't be read"):
        load_aws_credentials(environment(home))


def test_credentials_are_not_printed():
    assert "very-secret" not in repr(AwsCredentials("AKID", "very-secret", "very-secret-token"))


# Regions


def test_the_region_comes_from_the_environment(home):
    assert load_aws_region(environment(home, AWS_REGION="eu-west-1", AWS_DEFAULT_REGION="us-east-1")) == "eu-west-1"
    assert load_aws_region(environment(home, AWS_DEFAULT_REGION="us-east-1")) == "us-east-1"


def test_the_region_comes_from_the_profile(home):
    (home / ".aws" / "config").write_text("[default]\nregion = eu-north-1\n[profile work]\nregion=ap-south-1\n")
    assert load_aws_region(environment(home)) == "eu-north-1"
    assert load_aws_region(environment(home, AWS_PROFILE="work")) == "ap-south-1"
    assert load_aws_region(environment(home, AWS_PROFILE="nobody")) == ""
    (home / "config").write_text("[default]\nregion = sa-east-1\n")
    assert load_aws_region(environment(home, AWS_CONFIG_FILE=str(home / "config"))) == "sa-east-1"


# Signatures

printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
segment = st.text(st.sampled_from("abcXYZ019-._~:/%+ @=&é☀"), min_size=1, max_size=30)
query = st.lists(st.tuples(st.sampled_from("abAB-_"), st.text("xyz019%~", max_size=5)), max_size=4)


def botocore_headers(credentials, region, url, body):
    pytest.importorskip("botocore", reason="botocore isn't installed")
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as Theirs

    request = AWSRequest("POST", url, data=body, headers={"Content-Type": "application/json"})
    theirs = Theirs(credentials.access_key_id, credentials.secret_access_key, credentials.session_token or None)
    SigV4Auth(theirs, "bedrock", region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


@given(
    st.builds(AwsCredentials, printable, printable, st.just("") | printable),
    st.sampled_from(["", "/proxy", "/a//b/../c/.", "/%7Ehome/"]),
    segment,
    query,
    st.binary(max_size=200),
)
def test_a_signature_is_the_one_that_botocore_makes(credentials, prefix, model, pairs, body):
    target = f"{prefix}/model/{quote(model, safe='')}/converse" + "?" * bool(pairs) + "&".join(f"{k}={v}" for k, v in pairs)
    theirs = botocore_headers(credentials, "eu-central-1", f"https://bedrock.example:8443{target}", body)
    signer = AwsSigner(credentials, host="bedrock.example:8443", region="eu-central-1", service="bedrock")
    at = datetime.strptime(theirs["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert signer.sign(target, body, at) == theirs


def test_a_signer_goes_with_the_day():
    signer = AwsSigner(AwsCredentials("AKID", "secret"), host="h", region="r", service="bedrock")
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    one, two, again = (signer.sign("/", b"", at)["authorization"] for at in (first, second, first))
    assert one == again != two
    fresh = AwsSigner(AwsCredentials("AKID", "secret"), host="h", region="r", service="bedrock")
    assert fresh.sign("/", b"", second)["authorization"] == two


def test_what_a_signer_keeps_of_one_target_is_not_used_for_another():
    credentials, at = AwsCredentials("AKID", "secret", "token"), datetime(2026, 1, 1, tzinfo=UTC)
    signer = AwsSigner(credentials, host="h", region="r", service="bedrock")
    for target, body in (("/model/x/converse", b"1"), ("/model/x/converse-stream?a=b", b"2"), ("/model/x/converse", b"3")):
        fresh = AwsSigner(credentials, host="h", region="r", service="bedrock")
        assert signer.sign(target, body, at) == fresh.sign(target, body, at)


def test_a_signature_is_of_the_moment_it_is_asked_for():
    signer = AwsSigner(AwsCredentials("AKID", "secret", "token"), host="h", region="r", service="bedrock")
    before = datetime.now(UTC).replace(microsecond=0)
    headers = asyncio.run(signer("/model/x/converse", b"{}"))
    at = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert before <= at <= datetime.now(UTC)
    assert headers == signer.sign("/model/x/converse", b"{}", at)
    assert headers["x-amz-security-token"] == "token"
