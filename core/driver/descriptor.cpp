#include "driver/descriptor.hpp"

#include "driver/claim_names.hpp"

#include <fmt/format.h>
#include <span>

namespace mqcore::driver {
namespace {

std::string_view name_in(std::span<const ClaimName> names, std::uint32_t value) {
    for (const ClaimName& name : names)
        if (name.value == value)
            return name.name;
    return {};
}

std::vector<std::string> names_in(std::span<const ClaimName> names, std::uint32_t bits) {
    std::vector<std::string> found;
    for (const ClaimName& name : names)
        if (bits & name.value)
            found.emplace_back(name.name);
    return found;
}

} // namespace

std::string_view name_of_shape(std::uint32_t shape) { return name_in(kShapeNames, shape); }

std::string_view name_of_qos0_completion(std::uint32_t completion) {
    return name_in(kQos0CompletionNames, completion);
}

std::vector<std::string> names_of_features(std::uint32_t features) {
    return names_in(kFeatureNames, features);
}

std::vector<std::string> names_of_protocols(std::uint32_t protocols) {
    return names_in(kProtocolNames, protocols);
}

std::string difference(const Descriptor& descriptor, const support::Json& info) {
    const Claims& claims = descriptor.claims;
    for (const auto& [key, expected] :
         {std::pair<std::string_view, std::string>{"id", descriptor.driver_id},
          {"library", descriptor.library}})
        if (const std::string found = support::text_or(info, key, ""); found != expected)
            return fmt::format("its {} is '{}', driver.toml says '{}'", key, found, expected);
    const std::pair<std::string_view, std::uint32_t> numbers[] = {
        {"shape", claims.shape},
        {"protocols", claims.protocols},
        {"publish_qos", claims.publish_qos},
        {"subscribe_qos", claims.subscribe_qos},
        {"features", claims.features},
        {"max_window", claims.max_window},
        {"qos0_completion", claims.qos0_completion}};
    std::uint64_t known_features = 0;
    for (const ClaimName& name : kFeatureNames)
        known_features |= name.value;
    for (const auto& [key, expected] : numbers) {
        const std::uint64_t found = support::unsigned_or(info, key, 0) &
                                    (key == "features" ? known_features : ~std::uint64_t{0});
        if (found != expected)
            return fmt::format("its {} is {:#x}, driver.toml says {:#x}", key, found, expected);
    }
    return {};
}

} // namespace mqcore::driver
