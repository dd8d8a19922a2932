#include "support/file.hpp"

#include "support/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>

namespace mqcore::support {
namespace {

Error file_error(std::string_view what, const std::filesystem::path& path, int number) {
    return {ErrorCode::host,
            fmt::format("cannot {} '{}': {}", what, path.string(), std::strerror(number)),
            number == ENOSPC ? "free some space; what was finished before is intact" : ""};
}

Result<void> write_all(int fd, std::string_view content, const std::filesystem::path& path) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return file_error("write", path, errno);
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

} // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return file_error("read", path, errno);
    std::string content;
    if (struct stat status{}; ::fstat(fd.get(), &status) == 0 && status.st_size > 0)
        content.reserve(static_cast<std::size_t>(status.st_size));
    char block[16384];
    for (;;) {
        const ssize_t got = ::read(fd.get(), block, sizeof block);
        if (got == 0)
            return content;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_error("read", path, errno);
        content.append(block, static_cast<std::size_t>(got));
    }
}

void sync_folder(const std::filesystem::path& folder) {
    const UniqueFd fd(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd)
        ::fsync(fd.get());
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content) {
    const std::filesystem::path temporary = path.string() + ".part";
    UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd)
        return file_error("create", temporary, errno);
    Result<void> written = write_all(fd.get(), content, temporary);
    if (written && ::fsync(fd.get()) != 0)
        written = file_error("flush", temporary, errno);
    fd.reset();
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
        written = file_error("rename into place", path, errno);
    if (!written) {
        ::unlink(temporary.c_str());
        return written;
    }
    sync_folder(path.parent_path());
    return {};
}

std::string sha256(std::string_view content) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    EVP_Digest(content.data(), content.size(), digest, &length, EVP_sha256(), nullptr);
    std::string text;
    for (unsigned int i = 0; i < length; ++i)
        text += fmt::format("{:02x}", digest[i]);
    return text;
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
    Result<std::string> content = read_file(path);
    if (!content)
        return content;
    return sha256(*content);
}

} // namespace mqcore::support
