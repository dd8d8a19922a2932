#include "support/catch.hpp"
#include "support/file.hpp"
#include "support/temporary_folder.hpp"

#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mqcore;

// What is asked of the kernel about files that must survive a power loss, in its order, while somebody
// listens. These stand before the library's own.
static std::vector<std::string>* asked = nullptr;

extern "C" int fsync(int fd) {
    if (asked)
        asked->push_back(
            "fsync " +
            std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd)).filename().string());
    return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
    if (asked)
        asked->push_back(fmt::format("rename {} to {}",
                                     std::filesystem::path(from).filename().string(),
                                     std::filesystem::path(to).filename().string()));
    return ::renameat(AT_FDCWD, from, AT_FDCWD, to);
}

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder))
        ++count;
    return count;
}

// The largest file this process may write, for the time of a test: what a full disk looks like from
// inside (EFBIG where a disk says ENOSPC), without a disk of one's own.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, old_handler_);
    }

  private:
    rlimit before_{};
    void (*old_handler_)(int) = nullptr;
};

} // namespace

TEST_CASE("a file is read whole, with any bytes") {
    const tests::TemporaryFolder folder;
    std::string content(100'000, 'x');
    content[50'000] = '\0';
    const auto read = support::read_file(folder.write("a", content));
    REQUIRE(read);
    CHECK(*read == content);
    CHECK(*support::read_file(folder.write("empty", "")) == "");
}

TEST_CASE("a file that cannot be read is named with the reason") {
    const tests::TemporaryFolder folder;
    const auto missing = support::read_file(folder.path() / "missing");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().message ==
          "cannot read '" + (folder.path() / "missing").string() + "': No such file or directory");
    const auto a_folder = support::read_file(folder.path());
    REQUIRE_FALSE(a_folder);
    CHECK(a_folder.error().message.ends_with("Is a directory"));
}

TEST_CASE("a file is replaced whole and nothing is left beside it") {
    const tests::TemporaryFolder folder;
    const auto file = folder.write("result.json", "old");
    REQUIRE(support::write_file_atomically(file, "new content"));
    CHECK(*support::read_file(file) == "new content");
    CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("when the disk is full, the old content stays and no part is left behind") {
    const tests::TemporaryFolder folder;
    const auto file = folder.write("result.json", "old");
    {
        const FileSizeLimit limit(4096);
        const auto written = support::write_file_atomically(file, std::string(10'000, 'x'));
        REQUIRE_FALSE(written);
        CHECK(written.error().message.starts_with("cannot write '" + file.string()));
    }
    CHECK(*support::read_file(file) == "old");
    CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a folder that does not exist is an error, not a crash") {
    const auto written = support::write_file_atomically("/nonexistent/folder/file", "x");
    REQUIRE_FALSE(written);
    CHECK(written.error().code == support::ErrorCode::host);
}

TEST_CASE("SHA-256 equals the published test values") {
    // FIPS 180-4, examples of one block and of the empty message
    CHECK(support::sha256("abc") ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(support::sha256("") ==
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    const tests::TemporaryFolder folder;
    CHECK(*support::sha256_of_file(folder.write("abc", "abc")) == support::sha256("abc"));
    CHECK_FALSE(support::sha256_of_file(folder.path() / "missing"));
}

TEST_CASE("a power loss finds the old file or the new one: contents first, then the name") {
    const tests::TemporaryFolder folder;
    const auto file = folder.write("manifest.json", "old");
    std::vector<std::string> order;
    asked = &order;
    const auto written = support::write_file_atomically(file, "new");
    asked = nullptr;
    REQUIRE(written);
    CHECK(order == std::vector<std::string>{"fsync manifest.json.part",
                                            "rename manifest.json.part to manifest.json",
                                            "fsync " + folder.path().filename().string()});
}
