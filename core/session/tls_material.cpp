#include "session/tls_material.hpp"

#include "support/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <span>

namespace mqcore::session {
namespace {

using support::Error;
using support::ErrorCode;
using support::Result;

template <auto Free>
struct Freed {
    void operator()(auto* object) const { Free(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;

Error tls_error(std::string_view what) {
    char text[256] = "";
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    return {ErrorCode::internal, fmt::format("cannot make {} for TLS: {}", what, text), {}};
}

struct Extension {
    int id;
    const char* value;
};

struct Wanted {
    const char* common_name;
    std::span<const Extension> extensions;
};

// RFC 5280, section 4.1.2.2: positive and unique; two sessions must not share one, as some
// libraries cache by issuer and serial.
bool set_random_serial(X509* certificate) {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
        return false;
    bytes[0] &= 0x7F;
    const std::unique_ptr<BIGNUM, Freed<BN_free>> number(
        BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
    return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

bool add_extensions(X509* certificate, X509* issuer, std::span<const Extension> extensions) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    for (const Extension& wanted : extensions) {
        const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
            X509V3_EXT_conf_nid(nullptr, &context, wanted.id, wanted.value));
        if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
            return false;
    }
    return true;
}

// issuer null: signed by itself.
Certificate certify(EVP_PKEY* key, const Wanted& wanted, X509* issuer, EVP_PKEY* issuer_key) {
    Certificate certificate(X509_new());
    if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
        !set_random_serial(certificate.get()))
        return nullptr;
    constexpr long kHour = 3600, kDay = 24 * kHour;
    // From an hour ago, for a clock that is set back; long enough for a campaign of days.
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 30 * kDay);
    X509_NAME* name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>("mqcore session"), -1, -1, 0);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wanted.common_name), -1, -1,
                               0);
    X509* signer = issuer ? issuer : certificate.get();
    const bool is_done = X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) &&
                         X509_set_pubkey(certificate.get(), key) &&
                         add_extensions(certificate.get(), signer, wanted.extensions) &&
                         X509_sign(certificate.get(), issuer_key, EVP_sha256()) > 0;
    return is_done ? std::move(certificate) : nullptr;
}

Result<void> write_pem(const std::filesystem::path& file, mode_t mode, auto write) {
    const Bio memory(BIO_new(BIO_s_mem()));
    if (!memory || write(memory.get()) != 1)
        return tls_error("a PEM text");
    char* text = nullptr;
    const auto length = static_cast<std::size_t>(BIO_get_mem_data(memory.get(), &text));
    const support::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd || ::write(fd.get(), text, length) != static_cast<ssize_t>(length))
        return Error{ErrorCode::host,
                     fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)),
                     {}};
    return {};
}

constexpr Extension kAuthority[] = {
    {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
    {NID_key_usage, "critical,keyCertSign,cRLSign"},
    {NID_subject_key_identifier, "hash"},
};
constexpr Extension kServer[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},
    {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "serverAuth"},
    {NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1"},
    {NID_subject_key_identifier, "hash"},
    {NID_authority_key_identifier, "keyid"},
};

} // namespace

Result<TlsMaterial> make_tls_material(const std::filesystem::path& folder) {
    const Key authority_key(EVP_EC_gen("P-256"));
    const Key server_key(EVP_EC_gen("P-256"));
    if (!authority_key || !server_key)
        return tls_error("keys");
    const Certificate authority = certify(authority_key.get(), {"mqcore session CA", kAuthority},
                                          nullptr, authority_key.get());
    if (!authority)
        return tls_error("a certificate authority");
    const Certificate server =
        certify(server_key.get(), {"localhost", kServer}, authority.get(), authority_key.get());
    if (!server)
        return tls_error("a server certificate");

    TlsMaterial material{.ca_file = folder / "ca.pem",
                         .certificate_file = folder / "server.pem",
                         .key_file = folder / "server.key"};
    const auto certificate_text = [](X509* certificate) {
        return [certificate](BIO* to) { return PEM_write_bio_X509(to, certificate); };
    };
    const auto key_text = [&](BIO* to) {
        return PEM_write_bio_PrivateKey(to, server_key.get(), nullptr, nullptr, 0, nullptr,
                                        nullptr);
    };
    // The mode is given to open(), not set afterwards: the key is at no moment readable by others.
    for (const auto& written :
         {write_pem(material.ca_file, 0644, certificate_text(authority.get())),
          write_pem(material.certificate_file, 0644, certificate_text(server.get())),
          write_pem(material.key_file, 0600, key_text)})
        if (!written)
            return written.error();
    return material;
}

} // namespace mqcore::session
