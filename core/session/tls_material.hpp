#pragma once
// A certificate authority and a server certificate for one session, made in memory with OpenSSL:
// P-256 keys, valid for a few days, for 127.0.0.1, ::1 and localhost. The authority's key is never
// written; the server's key is created with mode 0600.

#include "support/result.hpp"

#include <filesystem>

namespace mqcore::session {

struct TlsMaterial {
    std::filesystem::path ca_file, certificate_file, key_file;
};

support::Result<TlsMaterial> make_tls_material(const std::filesystem::path& folder);

} // namespace mqcore::session
