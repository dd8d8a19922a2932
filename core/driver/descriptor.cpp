#include "driver/descriptor.hpp"

#include "driver/claim_names.hpp"

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

} // namespace mqcore::driver
