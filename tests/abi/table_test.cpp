// A table is read as far as its maker says and no further.

#include "driver/loaded_driver.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"

#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

// Memory whose last byte is the last one that may be read: the page behind it is not accessible.
class GuardedCopy {
  public:
    GuardedCopy(const void* bytes, std::size_t count)
        : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
        void* pages =
            ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(pages != MAP_FAILED);
        pages_ = static_cast<char*>(pages);
        REQUIRE(::mprotect(pages_ + page_, page_, PROT_NONE) == 0);
        first_ = pages_ + page_ - count;
        std::memcpy(first_, bytes, count);
    }
    ~GuardedCopy() { ::munmap(pages_, 2 * page_); }
    GuardedCopy(const GuardedCopy&) = delete;
    GuardedCopy& operator=(const GuardedCopy&) = delete;

    template <class Type>
    Type* as() const {
        return reinterpret_cast<Type*>(first_);
    }

  private:
    std::size_t page_;
    char* pages_;
    char* first_;
};

mqcore_info good_info() {
    return {.size = sizeof(mqcore_info),
            .shape = MQCORE_SHAPE_SYNC,
            .id = "good",
            .library = "none",
            .protocols = MQCORE_V311,
            .publish_qos = MQCORE_QOS0,
            .subscribe_qos = 0,
            .features = 0,
            .max_window = 0,
            .qos0_completion = MQCORE_QOS0_WRITTEN};
}

mqcore_driver good_table(const mqcore_info* info) {
    return {.magic = MQCORE_MAGIC,
            .size = sizeof(mqcore_driver),
            .abi_major = MQCORE_ABI_MAJOR,
            .abi_minor = MQCORE_ABI_MINOR,
            .needs_host_minor = 0,
            .reserved = 0,
            .info = info,
            .create = [](const mqcore_host*, void**) -> std::int32_t { return MQCORE_OK; },
            .connect = [](void*, const mqcore_run*) -> std::int32_t { return MQCORE_OK; },
            .drive = [](void*, mqcore_source*, mqcore_sink*) -> std::int32_t { return MQCORE_OK; },
            .disconnect = [](void*) -> std::int32_t { return MQCORE_OK; },
            .destroy = [](void*) {},
            .extension = nullptr};
}

// The line with which a driver that loads is refused.
std::string refusal(const mqcore_driver* table) {
    const auto loaded = mqcore::driver::check_table(table, "a.so");
    REQUIRE_FALSE(loaded);
    return mqcore::support::one_line(loaded.error());
}

} // namespace

TEST_CASE("a table of version 1.0 is read to its last byte and not beyond") {
    const mqcore_info info = good_info();
    const GuardedCopy info_copy(&info, sizeof info);
    const mqcore_driver table = good_table(info_copy.as<const mqcore_info>());
    const GuardedCopy table_copy(&table, sizeof table);

    const auto loaded = mqcore::driver::check_table(table_copy.as<const mqcore_driver>(), "a.so");
    REQUIRE(loaded);
    CHECK(loaded->id == "good");
    CHECK(loaded->claims.qos0_completion == MQCORE_QOS0_WRITTEN);
}

TEST_CASE(
    "a table and an info that are longer than this core knows load, their tails are ignored") {
    struct {
        mqcore_info info;
        char tail[40];
    } long_info{good_info(), {}};
    long_info.info.size = sizeof long_info;
    std::memset(long_info.tail, 0xff, sizeof long_info.tail);
    struct {
        mqcore_driver table;
        char tail[24];
    } long_table{good_table(&long_info.info), {}};
    long_table.table.size = sizeof long_table;
    long_table.table.abi_minor = MQCORE_ABI_MINOR + 1;
    std::memset(long_table.tail, 0xff, sizeof long_table.tail);

    const auto loaded = mqcore::driver::check_table(&long_table.table, "a.so");
    REQUIRE(loaded);
    CHECK(loaded->id == "good");
}

TEST_CASE("a table that says it is shorter than version 1.0 is refused without reading beyond it") {
    const mqcore_info info = good_info();
    mqcore_driver table = good_table(&info);
    for (const std::size_t size :
         {std::size_t{16}, offsetof(mqcore_driver, create), sizeof table - 8}) {
        table.size = static_cast<std::uint32_t>(size);
        const GuardedCopy copy(&table, size);
        CHECK(refusal(copy.as<const mqcore_driver>()).find("bytes, ABI 1.0 has 72") !=
              std::string::npos);
    }
}

TEST_CASE("an info that says it is shorter than version 1.0 is refused without reading beyond it") {
    mqcore_info info = good_info();
    info.size = offsetof(mqcore_info, max_window); // a multiple of its alignment
    const GuardedCopy copy(&info, info.size);
    const mqcore_driver table = good_table(copy.as<const mqcore_info>());
    CHECK(refusal(&table).find("info of 40 bytes, ABI 1.0 has 48") != std::string::npos);
}

TEST_CASE("another major version is refused before anything behind it is read") {
    const mqcore_info info = good_info();
    mqcore_driver table = good_table(&info);
    table.abi_major = 2;
    table.size = 16;
    const GuardedCopy copy(&table, 16);
    CHECK(refusal(copy.as<const mqcore_driver>()).find("driver ABI 2.0, this mqcore speaks 1.0") !=
          std::string::npos);
}

// Every refusal as a person reads it, in one file. What can be refused before a table is there is refused
// with the path of a file; shelf drivers stand in for these.
TEST_CASE(
    "what cannot be run is refused in a line that says what is wrong and what would be right") {
    std::string all;
    const auto add = [&](std::string_view what, const std::string& line) {
        all += fmt::format("{}\n    {}\n", what, line);
    };
    const auto refused = [&](std::string_view what, auto&& spoil) {
        mqcore_info info = good_info();
        mqcore_driver table = good_table(&info);
        spoil(table, info);
        add(what, refusal(&table));
    };
    using Table = mqcore_driver;
    using Info = mqcore_info;
    refused("another magic word", [](Table& table, Info&) { table.magic = 0x464c457f; });
    refused("a table without a version", [](Table& table, Info&) { table.size = 8; });
    refused("an older major version", [](Table& table, Info&) {
        table.abi_major = MQCORE_ABI_MAJOR - 1;
        table.abi_minor = 9;
    });
    refused("a later major version", [](Table& table, Info&) {
        table.abi_major = MQCORE_ABI_MAJOR + 1;
        table.abi_minor = 0;
    });
    refused("a core that is too old for the driver", [](Table& table, Info&) {
        table.abi_minor = MQCORE_ABI_MINOR + 2;
        table.needs_host_minor = MQCORE_ABI_MINOR + 1;
    });
    refused("a table that is too short",
            [](Table& table, Info&) { table.size = offsetof(Table, destroy); });
    refused("no info", [](Table& table, Info&) { table.info = nullptr; });
    refused("no create", [](Table& table, Info&) { table.create = nullptr; });
    refused("no connect", [](Table& table, Info&) { table.connect = nullptr; });
    refused("no drive", [](Table& table, Info&) { table.drive = nullptr; });
    refused("no disconnect", [](Table& table, Info&) { table.disconnect = nullptr; });
    refused("no destroy", [](Table& table, Info&) { table.destroy = nullptr; });
    refused("an info that is too short",
            [](Table&, Info& info) { info.size = offsetof(Info, max_window); });
    refused("no id", [](Table&, Info& info) { info.id = nullptr; });
    refused("no library", [](Table&, Info& info) { info.library = nullptr; });

    const auto not_loaded = [&](std::string_view what, const std::string& id) {
        const std::filesystem::path folder = std::filesystem::path(MQCORE_SHELF) / id;
        const auto loaded = mqcore::driver::load_driver(folder / (id + ".so"), folder);
        REQUIRE_FALSE(loaded);
        std::string line = mqcore::support::one_line(loaded.error());
        for (std::size_t at; (at = line.find(folder.parent_path().string())) != line.npos;)
            line.replace(at, folder.parent_path().string().size(), "PATH");
        add(what, line);
    };
    not_loaded("no such file", "nobody");
    not_loaded("no library", "not-a-library");
    not_loaded("a symbol that nobody defines", "unresolved-symbol");
    not_loaded("no entry", "no-entry");
    not_loaded("an entry without a table", "null-entry");

    mqcore::tests::check_golden(mqcore::tests::source_folder() / "tests/abi/refusals.txt", all);
}

TEST_CASE("MQCORE_HAS is true only for fields that lie wholly within the size") {
    mqcore_info info = good_info();
    CHECK(MQCORE_HAS(&info, mqcore_info, qos0_completion));
    info.size -= 1;
    CHECK_FALSE(MQCORE_HAS(&info, mqcore_info, qos0_completion));
    CHECK(MQCORE_HAS(&info, mqcore_info, max_window));
}
