#include "driver/loaded_driver.hpp"

#include "support/clock.hpp"

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>
#include <fmt/format.h>
#include <iterator>

namespace mqcore::driver {
namespace {

using support::Error;
using support::ErrorCode;

constexpr const char* kEntry = "mqcore_driver_entry";

Error refuse(const std::string& origin, std::string what, std::string hint = {}) {
    return {ErrorCode::driver, fmt::format("'{}' {}", origin, what), std::move(hint)};
}

struct OpenedLibrary {
    bool loads = false;
    std::string loader_text; // the loader's own words name the symbol or the file
    decltype(&mqcore_driver_entry) entry = nullptr; // null: not exported
};

OpenedLibrary open_library(const std::filesystem::path& file) {
    namespace dll = boost::dll;
    // Deliberately leaked: the destructor would unload.
    auto* library = new dll::shared_library;
    std::error_code failed;
    library->load(std::filesystem::absolute(file), failed,
                  dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    if (failed) {
        const char* reason = ::dlerror();
        return {
            .loads = false, .loader_text = reason ? reason : failed.message(), .entry = nullptr};
    }
    OpenedLibrary opened{.loads = true, .loader_text = {}, .entry = nullptr};
    if (library->has(kEntry))
        opened.entry = reinterpret_cast<decltype(&mqcore_driver_entry)>(
            reinterpret_cast<void*>(&library->get<char>(kEntry)));
    return opened;
}

// The pointers that every driver must set.
std::vector<std::string> missing_fields(const mqcore_driver& table) {
    const struct {
        const char* name;
        bool is_there;
    } required[] = {{"info", table.info != nullptr},
                    {"create", table.create != nullptr},
                    {"connect", table.connect != nullptr},
                    {"drive", table.drive != nullptr},
                    {"disconnect", table.disconnect != nullptr},
                    {"destroy", table.destroy != nullptr}};
    std::vector<std::string> missing;
    for (const auto& field : required)
        if (!field.is_there)
            missing.emplace_back(field.name);
    return missing;
}

support::Json text_or_null(const char* text) {
    return text ? support::Json(text) : support::Json(nullptr);
}

} // namespace

support::Result<LoadedDriver> load_driver(const std::filesystem::path& file,
                                          const std::filesystem::path& folder) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
        return refuse(file.string(), "does not exist");

    const OpenedLibrary opened = open_library(file);
    if (!opened.loads)
        return refuse(file.string(), fmt::format("cannot be loaded: {}", opened.loader_text),
                      "a driver is a shared library for this machine, see plugin-api/README.md");
    if (!opened.entry)
        return refuse(file.string(),
                      fmt::format("is not a driver: it does not export {}()", kEntry));
    const mqcore_driver* table = opened.entry(folder.c_str());
    if (!table)
        return refuse(file.string(),
                      fmt::format("cannot host the driver folder '{}': {}() returned null",
                                  folder.string(), kEntry),
                      "its reason is in the run's log");
    return check_table(table, file.string());
}

support::Result<LoadedDriver> check_table(const mqcore_driver* table, const std::string& origin) {
    if (table->magic != MQCORE_MAGIC)
        return refuse(origin,
                      fmt::format("is not a driver: its magic is {:#010x}, expected {:#010x}",
                                  table->magic, MQCORE_MAGIC));
    if (table->size < offsetof(mqcore_driver, info))
        return refuse(
            origin, fmt::format("has a table of {} bytes, too short for its version", table->size));
    if (table->abi_major != MQCORE_ABI_MAJOR)
        return refuse(origin,
                      fmt::format("is built for driver ABI {}.{}, this mqcore speaks {}.{}",
                                  table->abi_major, table->abi_minor, MQCORE_ABI_MAJOR,
                                  MQCORE_ABI_MINOR),
                      "rebuild it with this mqcore's driver.h");
    if (table->needs_host_minor > MQCORE_ABI_MINOR)
        return refuse(
            origin,
            fmt::format("needs a core with driver ABI {}.{} or newer, this mqcore speaks {}.{}",
                        table->abi_major, table->needs_host_minor, MQCORE_ABI_MAJOR,
                        MQCORE_ABI_MINOR),
            "use a newer mqcore");
    if (table->size < kTableBytes)
        return refuse(origin, fmt::format("has a table of {} bytes, ABI 1.0 has {}", table->size,
                                          kTableBytes));

    if (const auto missing = missing_fields(*table); !missing.empty())
        return refuse(origin, fmt::format("has a null '{}' in its table", missing.front()));

    const mqcore_info& info = *table->info;
    if (info.size < kInfoBytes)
        return refuse(
            origin, fmt::format("has an info of {} bytes, ABI 1.0 has {}", info.size, kInfoBytes));
    if (!info.id || !info.library)
        return refuse(origin, "has a null 'id' or 'library' in its info");
    return LoadedDriver{.table = table,
                        .id = info.id,
                        .library = info.library,
                        .claims = {.shape = info.shape,
                                   .protocols = info.protocols,
                                   .publish_qos = info.publish_qos,
                                   .subscribe_qos = info.subscribe_qos,
                                   .features = info.features,
                                   .max_window = info.max_window,
                                   .qos0_completion = info.qos0_completion}};
}

namespace {

std::size_t threads_of_this_process() {
    std::error_code ignored;
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/task", ignored), {}));
}

// {"table", "info"}, as far as the table says that it goes.
support::JsonObject describe(const mqcore_driver* table) {
    support::JsonObject facts{{"table", nullptr}, {"info", nullptr}};
    if (!table)
        return facts;
    support::JsonObject& told = facts["table"].emplace_object();
    told["magic"] = table->magic;
    if (table->magic != MQCORE_MAGIC)
        return facts; // nothing behind it means anything
    told["size"] = table->size;
    if (table->size < offsetof(mqcore_driver, info))
        return facts;
    told["abi_major"] = table->abi_major;
    told["abi_minor"] = table->abi_minor;
    told["needs_host_minor"] = table->needs_host_minor;
    if (table->abi_major != MQCORE_ABI_MAJOR || table->size < kTableBytes)
        return facts;
    support::JsonArray missing;
    for (const std::string& name : missing_fields(*table))
        missing.emplace_back(name);
    told["missing"] = std::move(missing);
    if (!table->info)
        return facts;
    const mqcore_info& info = *table->info;
    if (info.size < kInfoBytes) {
        facts["info"] = support::JsonObject{{"size", info.size}};
        return facts;
    }
    facts["info"] = support::JsonObject{{"size", info.size},
                                        {"id", text_or_null(info.id)},
                                        {"library", text_or_null(info.library)},
                                        {"shape", info.shape},
                                        {"protocols", info.protocols},
                                        {"publish_qos", info.publish_qos},
                                        {"subscribe_qos", info.subscribe_qos},
                                        {"features", info.features},
                                        {"max_window", info.max_window},
                                        {"qos0_completion", info.qos0_completion}};
    return facts;
}

} // namespace

support::Json inspect_driver(const std::filesystem::path& file,
                             const std::filesystem::path& folder) {
    const std::size_t threads = threads_of_this_process();
    const support::Nanoseconds begin = support::now_ns();
    const OpenedLibrary opened = open_library(file);
    const mqcore_driver* table = opened.entry ? opened.entry(folder.c_str()) : nullptr;
    const support::Nanoseconds end = support::now_ns();
    support::JsonObject facts = describe(table);
    facts["loads"] = opened.loads;
    facts["loader_text"] = opened.loader_text;
    facts["exports_entry"] = opened.entry != nullptr;
    facts["listed_ns"] = end - begin;
    facts["threads_started"] = threads_of_this_process() - threads;
    facts["is_same_table"] = nullptr;
    if (table)
        facts["is_same_table"] = opened.entry(folder.c_str()) == table;
    return facts;
}

support::Json to_json(const LoadedDriver& driver) {
    return support::JsonObject{
        {"id", driver.id},
        {"library", driver.library},
        {"abi", fmt::format("{}.{}", driver.table->abi_major, driver.table->abi_minor)},
        {"shape", driver.claims.shape},
        {"protocols", driver.claims.protocols},
        {"publish_qos", driver.claims.publish_qos},
        {"subscribe_qos", driver.claims.subscribe_qos},
        {"features", driver.claims.features},
        {"max_window", driver.claims.max_window},
        {"qos0_completion", driver.claims.qos0_completion}};
}

} // namespace mqcore::driver
