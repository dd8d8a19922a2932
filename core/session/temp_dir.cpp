#include "session/temp_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>

namespace mqcore::session {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "mqcore-";
constexpr const char* kLockName = ".owner-lives";

bool is_mine(const fs::path& folder) {
    struct stat info {};
    return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == ::geteuid();
}

void remove_abandoned(const fs::path& parent) {
    std::error_code error;
    for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
         entry.increment(error)) {
        if (!entry->path().filename().string().starts_with(kPrefix) || !is_mine(entry->path()))
            continue;
        // A folder without the file is being made right now, or is something else's.
        const support::UniqueFd lock(
            ::open((entry->path() / kLockName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        std::error_code ignored;
        if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0)
            fs::remove_all(entry->path(), ignored);
    }
}

} // namespace

support::Result<TempDir> TempDir::create() {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error)
        parent = "/tmp";
    remove_abandoned(parent);
    std::string pattern = (parent / (std::string(kPrefix) + "XXXXXX")).string();
    const auto failed = [&] {
        return support::Error{
            support::ErrorCode::host,
            fmt::format("cannot make a temporary folder '{}': {}", pattern, std::strerror(errno)),
            "set TMPDIR to a folder that can be written to"};
    };
    if (!::mkdtemp(pattern.data())) // mode 0700
        return failed();
    // Locked under another name first: nobody may find the file without the lock.
    const fs::path path = pattern;
    const fs::path unlocked = path / ".new";
    support::UniqueFd lock(::open(unlocked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::rename(unlocked.c_str(), (path / kLockName).c_str()) != 0)
        return failed();
    return TempDir(path, std::move(lock));
}

TempDir::TempDir(TempDir&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TempDir::~TempDir() {
    if (std::error_code ignored; !path_.empty())
        fs::remove_all(path_, ignored);
}

} // namespace mqcore::session
