#pragma once
// A folder that stands for "/" in a test: files are written into it by path.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace mqcore::test {

class FakeRoot {
  public:
    FakeRoot() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "mqcore-test-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~FakeRoot() { std::filesystem::remove_all(path_); }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;

    FakeRoot& with(const std::string& file, const std::string& content) {
        std::filesystem::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file) << content;
        return *this;
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

} // namespace mqcore::test
