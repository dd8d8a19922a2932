#include "session/tls_material.hpp"

#include "scratch.hpp"
#include "support/file.hpp"

#include <memory>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

using namespace mqcore::session;
using mqcore::test::scratch;

namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate read_certificate(const std::filesystem::path& file) {
    FILE* stream = std::fopen(file.c_str(), "r");
    REQUIRE(stream);
    Certificate certificate(PEM_read_X509(stream, nullptr, nullptr, nullptr), &X509_free);
    std::fclose(stream);
    REQUIRE(certificate);
    return certificate;
}

mode_t mode_of(const std::filesystem::path& file) {
    struct stat info {};
    REQUIRE(::stat(file.c_str(), &info) == 0);
    return info.st_mode & 0777;
}

} // namespace

TEST_CASE("the server's certificate is good for the loopback names and signed by the authority") {
    const TempDir folder = scratch();
    const auto material = make_tls_material(folder.path());
    REQUIRE(material);
    const Certificate authority = read_certificate(material->ca_file);
    const Certificate server = read_certificate(material->certificate_file);

    CHECK(X509_check_host(server.get(), "localhost", 0, 0, nullptr) == 1);
    CHECK(X509_check_ip_asc(server.get(), "127.0.0.1", 0) == 1);
    CHECK(X509_check_ip_asc(server.get(), "::1", 0) == 1);
    CHECK(X509_check_host(server.get(), "example.org", 0, 0, nullptr) == 0);

    const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                        &X509_STORE_free);
    X509_STORE_add_cert(store.get(), authority.get());
    X509_STORE_set_flags(store.get(), X509_V_FLAG_X509_STRICT);
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(
        X509_STORE_CTX_new(), &X509_STORE_CTX_free);
    REQUIRE(X509_STORE_CTX_init(check.get(), store.get(), server.get(), nullptr) == 1);
    X509_STORE_CTX_set_purpose(check.get(), X509_PURPOSE_SSL_SERVER);
    const int verified = X509_verify_cert(check.get());
    INFO(X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())));
    CHECK(verified == 1);
}

TEST_CASE("the private key belongs to the certificate and to its owner alone") {
    const TempDir folder = scratch();
    const auto material = make_tls_material(folder.path());
    REQUIRE(material);
    CHECK(mode_of(material->key_file) == 0600);
    CHECK(mode_of(folder.path()) == 0700);
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
    REQUIRE(SSL_CTX_use_certificate_file(context.get(), material->certificate_file.c_str(),
                                         SSL_FILETYPE_PEM) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), material->key_file.c_str(),
                                        SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_check_private_key(context.get()) == 1);
}

TEST_CASE("two sessions share neither key nor serial number") {
    const TempDir one = scratch(), other = scratch();
    const auto first = make_tls_material(one.path());
    const auto second = make_tls_material(other.path());
    REQUIRE(first);
    REQUIRE(second);
    CHECK(*mqcore::support::read_file(first->key_file) !=
          *mqcore::support::read_file(second->key_file));
    const Certificate a = read_certificate(first->certificate_file);
    const Certificate b = read_certificate(second->certificate_file);
    CHECK(ASN1_INTEGER_cmp(X509_get0_serialNumber(a.get()), X509_get0_serialNumber(b.get())) != 0);
}
