#include "campaign/contract.hpp"

#include "campaign/manifest.hpp"
#include "support/file.hpp"

#include <cstdlib>
#include <filesystem>

namespace mqcore::campaign {
namespace {

namespace fs = std::filesystem;
using support::Json;
using support::JsonArray;
using support::JsonObject;
using support::Result;

fs::path folder() {
    if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data)
        return fs::path(data) / "mqcore/checks";
    const char* home = std::getenv("HOME");
    return home && *home ? fs::path(home) / ".local/share/mqcore/checks" : fs::path();
}

fs::path record_of(const driver::Descriptor& driver, const JsonObject& files) {
    const Json key = JsonObject{{"driver", driver.driver_id},
                                {"variant", driver.variant.name},
                                {"version", driver.choice.version},
                                {"files", files}};
    return folder() / (support::sha256(support::print_json(key)) + ".json");
}

} // namespace

Result<void> keep_check(const driver::Descriptor& driver,
                        const std::vector<std::string>& breaches) {
    if (!driver.choice.checkout.empty())
        return {};
    if (folder().empty())
        return support::Error{
            support::ErrorCode::host,
            "the outcome of the check is not kept: neither XDG_DATA_HOME nor HOME "
            "is set",
            {}};
    const Result<JsonObject> files = hashes_of_driver(driver);
    if (!files)
        return files.error();
    std::error_code why;
    fs::create_directories(folder(), why);
    if (why)
        return support::Error{support::ErrorCode::host,
                              "the outcome of the check is not kept: cannot make '" +
                                  folder().string() + "': " + why.message(),
                              {}};
    return support::write_file_atomically(
        record_of(driver, *files),
        support::print_json(JsonObject{{"driver", driver.id},
                                       {"mqcore", MQCORE_VERSION},
                                       {"breaches", JsonArray(breaches.begin(), breaches.end())}}) +
            "\n");
}

Json contract_of(const driver::Descriptor& driver, const JsonObject& files) {
    const JsonObject unchecked{{"outcome", "unchecked"}, {"breaches", JsonArray()}};
    if (!driver.choice.checkout.empty() || folder().empty())
        return unchecked;
    const Result<std::string> text = support::read_file(record_of(driver, files));
    if (!text)
        return unchecked;
    const Result<Json> record = support::parse_json(*text, "the record of a check");
    if (!record || support::text_or(*record, "mqcore", "") != MQCORE_VERSION)
        return unchecked;
    const Json* breaches = support::find(*record, "breaches");
    if (!breaches || !breaches->is_array())
        return unchecked;
    return JsonObject{{"outcome", breaches->get_array().empty() ? "kept" : "broken"},
                      {"breaches", *breaches}};
}

} // namespace mqcore::campaign
