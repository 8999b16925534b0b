"""One declaration of Kafka by librdkafka's names, for both clients; or refused by name."""

import ast
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import given, strategies as st

from spark_jobs.errors import KafkaConfigInvalid
from spark_jobs.settings.kafka import properties_file
from spark_jobs.settings.kafka.config import KafkaConfig, jaas
from spark_jobs.settings.kafka.names import BY_NAME, FIXED, REFUSED
from tests.harness.certificates import Authority
from tests.harness.refused import fails

AUTHORITY = Authority("unit")
PAIR, HIDDEN_PAIR = AUTHORITY.pair("reader"), AUTHORITY.pair("reader", password="opens it")
SCRAM = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "reader",
    "sasl.password": "canary",
}
TOKENS = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.client.id": "reader",
    "sasl.oauthbearer.client.secret": "canary",
    "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
}
PASSWORDS = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), min_size=1)
"""Any text without control characters: quotes, backslashes and semicolons among it."""

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def of(properties: dict[str, str]) -> KafkaConfig:
    return KafkaConfig.of(properties, "a test")


def refused(properties: dict[str, str]) -> str:
    with pytest.raises(KafkaConfigInvalid) as raised:
        of(properties)
    assert raised.value.parameters.get("remedy") != ""
    assert "canary" not in str(raised.value)
    assert PAIR.key.splitlines()[1] not in str(raised.value)
    return str(raised.value)


def test_scram_in_librdkafkas_names_is_scram_in_both():
    config = of(SCRAM)
    assert config.librdkafka() == SCRAM
    assert config.java() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="reader" password="canary";',
    }


def test_librdkafkas_other_names_are_the_same():
    renamed = {n.replace("mechanism", "mechanisms"): v for n, v in SCRAM.items()}
    assert of(renamed | {"sasl.mechanisms": "PLAIN"}).mechanism == "PLAIN"


def test_tokens_are_asked_for_by_both():
    config = of(
        {
            **TOKENS,
            "sasl.oauthbearer.scope": "read",
            "sasl.oauthbearer.extensions": "cluster=a,pool=b",
            "https.ca.pem": AUTHORITY.certificate,
        }
    )
    assert config.librdkafka()["sasl.oauthbearer.method"] == "oidc"
    java = config.java()
    options = {
        "clientId": "reader", "clientSecret": "canary", "scope": "read", "extension_cluster": "a",
        "extension_pool": "b", "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": AUTHORITY.certificate,
    }  # fmt: skip
    assert java["sasl.jaas.config"] == jaas("OAUTHBEARER", options)
    assert java["sasl.login.callback.handler.class"].endswith("OAuthBearerLoginCallbackHandler")
    assert config.java_options() == [
        "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://idp.example/token"
    ]


def test_pem_files_are_read_so_that_executors_need_none(tmp_path):
    key, certificate, _ = PAIR.write(tmp_path, "reader")
    (ca := tmp_path / "ca.crt").write_text("what is before it\n" + AUTHORITY.certificate)
    files = {"ca": ca, "key": key, "certificate": certificate}
    names = {f"ssl.{what}.location": str(file) for what, file in files.items()}
    config = of({"security.protocol": "SSL"} | names)
    assert config.librdkafka() == {
        "security.protocol": "SSL",
        "ssl.ca.pem": AUTHORITY.certificate,
        "ssl.key.pem": PAIR.key,
        "ssl.certificate.pem": PAIR.certificate,
    }
    assert config.java() == {
        "security.protocol": "SSL", "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": AUTHORITY.certificate, "ssl.keystore.type": "PEM",
        "ssl.keystore.key": PAIR.key, "ssl.keystore.certificate.chain": PAIR.certificate,
    }  # fmt: skip


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("password", ["", "opens it"])
def test_a_key_of_any_form_is_handed_on_in_the_one_that_java_reads(form, password):
    key = load_pem_private_key(PAIR.key.encode(), None)
    hidden = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    given = {
        "security.protocol": "SSL",
        "ssl.certificate.pem": PAIR.certificate,
        "ssl.key.pem": key.private_bytes(Encoding.PEM, form, hidden).decode(),
    }
    config = of(given | ({"ssl.key.password": password} if password else {}))
    assert config.librdkafka()["ssl.key.pem"] == config.java()["ssl.keystore.key"] == PAIR.key
    assert "ssl.key.password" not in config.librdkafka()


@pytest.mark.parametrize(
    "name", ["sasl.pasword", "session.timeout.ms", "ssl.cipher.suites", "", "Security.Protocol"]
)
def test_an_unknown_property_is_refused_by_name_and_without_its_value(name):
    assert f"property {name!r}" in refused({**SCRAM, name: "canary"})


def test_the_closest_name_is_offered():
    assert "Did you mean sasl.password?" in refused({"sasl.pasword": "canary"})


@pytest.mark.parametrize("name", REFUSED)
def test_a_known_one_that_is_not_taken_says_why(name):
    assert REFUSED[name] in refused({name: "canary"})
    assert name not in BY_NAME


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("ssl.endpoint.identification.algorithm", ""),
        ("ssl.endpoint.identification.algorithm", "none"),
        ("enable.ssl.certificate.verification", "false"),
    ],
)
def test_what_has_one_safe_value_takes_no_other(name, given):
    assert f"{name} is {given!r}: {FIXED[name][1]}. Give {FIXED[name][0]}" in refused({name: given})


CA, KEY, CERTIFICATE = AUTHORITY.certificate, PAIR.key, PAIR.certificate
BOTH = {"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": KEY}
HIDDEN = BOTH | {"ssl.key.pem": HIDDEN_PAIR.key}
MISFITS: list[tuple[dict[str, str | None], str]] = [
    ({"security.protocol": "TLS"}, "security.protocol is 'TLS': Sluice does not know this value."),
    ({"sasl.mechanism": "GSSAPI"}, "Sluice does not support Kerberos yet"),
    ({"sasl.mechanism": "SCRAM"}, "Use PLAIN or SCRAM-SHA-256"),
    ({"security.protocol": ""}, "security.protocol is '': it is empty"),
    ({"security.protocol": "SSL"}, "sasl.mechanism would have no effect"),
    ({"security.protocol": None}, "security.protocol is not given: sasl.mechanism would have no"),
    ({"security.protocol": "SASL_PLAINTEXT", "ssl.ca.pem": CA}, "ssl.ca.pem would have no effect"),
    ({"sasl.mechanism": None}, "sasl.mechanism is not given: SASL_SSL needs it"),
    ({"sasl.oauthbearer.scope": "read"}, "scope is (not shown): it has no effect with SCRAM-SHA-512"),
    ({"https.ca.pem": CA}, "https.ca.pem is (not shown): it has no effect"),
    ({**TOKENS}, "sasl.username is (not shown): it has no effect with OAUTHBEARER"),
    ({"sasl.password": None}, "sasl.password is not given: SCRAM-SHA-512 needs it"),
    ({"sasl.password": "canary\nline"}, "sasl.password is (not shown): it has a line break"),
    ({"sasl.password": "canary "}, "sasl.password is (not shown): it begins or ends with a blank"),
    ({"sasl.mechanisms": "PLAIN"}, "sasl.mechanisms is 'PLAIN': sasl.mechanism has another value"),
    ({"ssl.ca.location": "/nowhere.crt"}, "'/nowhere.crt': it cannot be read (No such file"),
    ({"ssl.key.location": KEY}, "is (not shown): it is not a path. Give the path of a PEM file; "),
    ({"ssl.key.location": KEY.replace("\n", " ")}, "belongs in ssl.key.pem."),
    ({"ssl.certificate.location": "/canary\0.crt"}, "location is (not shown): it is not a path"),
    ({"ssl.key.location": "canary" * 1000}, "(not shown): it cannot be read (File name too long)"),
    ({"ssl.ca.pem": "canary"}, "ssl.ca.pem is (not shown): it has no certificate in PEM"),
    ({"ssl.key.password": "canary"}, "password is (not shown): it belongs to ssl.key.location"),
    ({"ssl.key.pem": KEY}, "ssl.certificate.pem is not given: a key and its certificate go together"),
    ({"ssl.certificate.pem": CERTIFICATE}, "ssl.key.pem is not given"),
    (BOTH | {"ssl.key.pem": "canary"}, "it has no readable private key"),
    (HIDDEN | {"ssl.key.password": "canary"}, "ssl.key.password does not decrypt it"),
    ({**HIDDEN}, "ssl.key.password is not given"),
    (BOTH | {"ssl.key.password": "canary"}, "not encrypted"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "says"), MISFITS)
def test_what_does_not_fit_is_named_with_its_value_the_reason_and_a_remedy(changes, says):
    text = refused(
        {name: value for name, value in {**SCRAM, **changes}.items() if value is not None}
    )
    assert says in text
    assert text.startswith("KAFKA_CONFIG_INVALID: a test: ")


@pytest.mark.parametrize(
    "url",
    [
        "http://idp.example/token", "ftp://127.0.0.1/x", "https://u:canary@idp.example/",
        "https://a b", "https://[", "https:///x", "https://idp.example/ -Dcanary",
        'https://idp.example/"canary',
    ],
)  # fmt: skip
def test_a_secret_is_sent_to_a_token_endpoint_encrypted_and_no_other_way(url):
    assert "sasl.oauthbearer.token.endpoint.url is" in refused(
        {**TOKENS, "sasl.oauthbearer.token.endpoint.url": url}
    )


def read(folder: Path, text: str, mode: int = 0o600) -> KafkaConfig:
    file = folder / "kafka.properties"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return KafkaConfig.read(str(file))


def test_a_file_has_a_property_on_each_line_as_it_stands(tmp_path):
    config = read(
        tmp_path,
        """# a client
            bootstrap.servers = a:1,b:2

            security.protocol=SASL_SSL
            sasl.mechanism = SCRAM-SHA-512
            sasl.username=reader
            sasl.password=can\\ary\\n = #1
            """,
    )
    assert (config.brokers, config.path) == ("a:1,b:2", str(tmp_path / "kafka.properties"))
    assert config.librdkafka() == SCRAM | {"sasl.password": "can\\ary\\n = #1"}


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o620, 0o644, 0o666, 0o777])
def test_one_with_a_secret_that_others_may_read_or_change_is_refused(tmp_path, mode):
    with fails(KafkaConfigInvalid, "secret_exposed"):
        read(tmp_path, "".join(f"{name}={value}\n" for name, value in SCRAM.items()), mode)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440, 0o640])
def test_its_group_may_read_it_as_a_mounted_secret_is(tmp_path, mode):
    assert read(
        tmp_path, "".join(f"{name}={value}\n" for name, value in SCRAM.items()), mode
    ).secrets() == ("canary",)


def test_nor_may_others_read_a_private_key(tmp_path):
    key, certificate, _ = PAIR.write(tmp_path, "reader")
    key.chmod(0o644)
    text = (
        f"security.protocol=SSL\nssl.key.location={key}\nssl.certificate.location={certificate}\n"
    )
    with fails(KafkaConfigInvalid, "property_refused", name="ssl.key.location"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sasl.username=reader\ncanary\n", "line 2 is not name=value"),
        ("sasl.password: canary=\n", "line 1 is not name=value"),
        ("sasl.password canary=\n", "line 1 is not name=value"),
        ("\n\nsasl.password=canary\nsasl.password=canary2", "sasl.password has another value"),
    ],
)
def test_a_line_that_is_no_property_and_a_second_value_are_refused(tmp_path, text, says):
    with pytest.raises(KafkaConfigInvalid) as raised:
        read(tmp_path, text)
    assert says in str(raised.value)
    assert "canary" not in str(raised.value)


def test_one_that_is_not_there_is_named():
    with fails(KafkaConfigInvalid, "file_unreadable", source="SLUICE_KAFKA_CONFIG=/nowhere"):
        KafkaConfig.read("/nowhere")


def test_one_for_another_process_is_its_owners_alone_and_says_the_same(tmp_path):
    config = of({**SCRAM, "bootstrap.servers": "a:1", "ssl.ca.pem": AUTHORITY.certificate})
    kept = config.write_to(tmp_path / "handed-over")
    assert (tmp_path / "handed-over").stat().st_mode & 0o777 == 0o600
    assert (KafkaConfig.read(kept.path), kept.librdkafka()) == (kept, config.librdkafka())


def test_so_does_pem_text_whose_lines_end_as_those_of_windows_do(tmp_path):
    pair = {"certificate.pem": PAIR.certificate, "key.pem": PAIR.key}
    names = {f"schema.registry.ssl.{name}": text for name, text in pair.items()}
    given = {name: text.replace("\n", "\r\n") for name, text in names.items()}
    config = of({"schema.registry.url": "https://a"} | given)
    kept = config.write_to(tmp_path / "handed-over")
    assert KafkaConfig.read(kept.path).registry() == config.registry()


def test_its_text_shows_no_value():
    config = of(
        {
            **SCRAM,
            "ssl.ca.pem": AUTHORITY.certificate,
            "ssl.key.pem": PAIR.key,
            "ssl.certificate.pem": PAIR.certificate,
        }
    )
    assert "sasl.password" in repr(config)
    assert not [
        value
        for value in config.librdkafka().values()
        if value in f"{config} {config!r} {vars(KafkaConfig)}"
    ]
    assert set(config.secrets()) == {"canary", PAIR.key}


@given(PASSWORDS)
def test_whatever_a_password_is_jaas_says_it_and_a_file_keeps_it(password):
    text = jaas("PLAIN", {"username": "u", "password": password})
    said = text.partition(" password=")[2].removesuffix(";")
    assert ast.literal_eval(said) == password  # Python has the same escapes
    kept = password.strip(" \t")
    assert dict(properties_file.parse(properties_file.render({"a": kept}))) == {"a": kept}


@given(TEXTS)
def test_whatever_an_option_is_jaas_says_it_in_one_line(value):
    text = jaas("OAUTHBEARER", {"a": value, "b": "c"})
    assert "\n" not in text
    assert "\r" not in text
