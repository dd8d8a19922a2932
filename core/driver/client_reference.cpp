#include "driver/client_reference.hpp"

#include "driver/environment.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::driver {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorCode;
using support::Result;

constexpr const char* kForm =
    "clients are named DRIVER[:VARIANT][@VERSION], or @PATH[=NAME] for a working copy";

Error wrong(std::string message, std::string hint) {
    return {ErrorCode::wrong_input, std::move(message), std::move(hint)};
}

bool is_path(std::string_view text) {
    return text.find('/') != std::string_view::npos || text == "." || text == "..";
}

// What may stand in an id behind '@': a version of PEP 440 without an epoch, or a folder's plain name.
bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '.' || c == '_' || c == '-' || c == '+';
    });
}

Result<void> choose_variant(Descriptor& client, const std::string& name);
Result<void> choose_package(Descriptor& client, const ClientReference& reference,
                            const Catalogue& catalogue);

} // namespace

Result<ClientReference> parse_client_reference(std::string_view text) {
    ClientReference reference;
    const std::size_t at = text.find('@');
    const std::string_view head = text.substr(0, at);
    // In a path of a driver, a ':' before its last '/' belongs to a folder's name.
    const std::size_t slash = head.rfind('/');
    const std::size_t colon = head.find(':', slash == std::string_view::npos ? 0 : slash);
    reference.driver = head.substr(0, colon);
    if (colon != std::string_view::npos)
        reference.variant = head.substr(colon + 1);
    if (reference.driver.empty() || (colon != std::string_view::npos && reference.variant.empty()))
        return wrong(fmt::format("'{}' names no client", text), kForm);
    if (at == std::string_view::npos)
        return reference;

    const std::string_view tail = text.substr(at + 1);
    if (!is_path(tail.substr(0, tail.find('=')))) {
        reference.version = tail;
        return is_plain(tail) ? Result<ClientReference>(reference)
                              : wrong(fmt::format("'{}' in '{}' is no version", tail, text), kForm);
    }
    // A '=' before the last '/' belongs to a folder's name.
    const std::size_t last = tail.rfind('/');
    const std::size_t equals = tail.find('=', last == std::string_view::npos ? 0 : last);
    reference.checkout = tail.substr(0, equals);
    if (equals != std::string_view::npos) {
        reference.name = tail.substr(equals + 1);
        if (!is_plain(reference.name))
            return wrong(fmt::format("'{}' in '{}' is no name", reference.name, text),
                         "a name has letters, digits and . _ - +");
    }
    return reference;
}

Result<Descriptor> client_named(std::string_view text, const Catalogue& catalogue) {
    std::error_code unreadable;
    if (is_path(text) && fs::exists(fs::path(text), unreadable))
        return driver_named(text, catalogue); // whatever letters its folders' names have
    const Result<ClientReference> reference = parse_client_reference(text);
    if (!reference)
        return reference.error();
    Result<Descriptor> client = driver_named(reference->driver, catalogue);
    if (!client)
        return client;
    if (!reference->variant.empty())
        if (Result<void> chosen = choose_variant(*client, reference->variant); !chosen)
            return std::move(chosen).error();
    if (text.find('@') != std::string_view::npos)
        if (Result<void> chosen = choose_package(*client, *reference, catalogue); !chosen)
            return std::move(chosen).error();
    return client;
}

Result<void> add_client(Descriptor client, std::vector<Descriptor>& clients) {
    const auto same = std::ranges::find(clients, client.id, &Descriptor::id);
    if (same == clients.end()) {
        clients.push_back(std::move(client));
        return {};
    }
    std::error_code unreadable;
    if (!fs::equivalent(same->folder, client.folder, unreadable))
        return wrong(fmt::format("two drivers are called '{}': '{}' and '{}'", client.id,
                                 same->folder.string(), client.folder.string()),
                     "give one of them another id in its driver.toml");
    if (same->choice != client.choice) {
        const PackageChoice& checkout =
            client.choice.checkout.empty() ? same->choice : client.choice;
        return wrong(fmt::format("two clients would be called '{}' in the results", client.id),
                     fmt::format("name one of them: {}@{}=NAME",
                                 client.id.substr(0, client.id.find('@')),
                                 checkout.checkout.string()));
    }
    return {};
}

std::string file_name_of_client(std::string_view id) {
    // Drivers and variants have no '_' in their names, and ':' stands between the two only.
    std::string name(id);
    std::ranges::replace(name, ':', '_');
    return name;
}

namespace {

Result<void> choose_variant(Descriptor& client, const std::string& name) {
    const auto variant = std::ranges::find(client.variants, name, &Variant::name);
    if (variant == client.variants.end()) {
        std::vector<std::string> names;
        for (const Variant& known : client.variants)
            names.push_back(known.name);
        const auto near = support::nearest(name, names);
        return wrong(fmt::format("'{}' has no variant '{}'", client.driver_id, name),
                     names.empty() ? "its driver.toml declares none"
                     : near        ? fmt::format("did you mean '{}:{}'?", client.driver_id, *near)
                                   : fmt::format("it has: {}", fmt::join(names, ", ")));
    }
    client.variant = *variant;
    client.id += ":" + name;
    return {};
}

Result<void> choose_package(Descriptor& client, const ClientReference& reference,
                            const Catalogue& catalogue) {
    if (!needs_environment(catalogue.host(client.host)) || client.package.empty())
        return wrong(fmt::format("the library of '{}' cannot be chosen with '@'", client.driver_id),
                     client.host.empty() || !client.package.empty()
                         ? "it comes with the driver, not from a language environment"
                         : "its driver.toml names no 'package'");
    if (reference.checkout.empty()) {
        client.choice.version = reference.version;
        client.id += "@" + reference.version;
        return {};
    }
    std::error_code failed;
    client.choice.checkout = fs::canonical(reference.checkout, failed);
    if (failed || !fs::is_directory(client.choice.checkout, failed))
        return wrong(fmt::format("there is no folder '{}'", reference.checkout),
                     "a working copy is the folder of a library's source");
    const std::string name =
        reference.name.empty() ? client.choice.checkout.filename().string() : reference.name;
    if (!is_plain(name))
        return wrong(fmt::format("the name of the folder '{}' cannot stand in results",
                                 client.choice.checkout.string()),
                     fmt::format("give it one: {}@{}=NAME", client.id, reference.checkout));
    client.id += "@" + name;
    return {};
}

} // namespace
} // namespace mqcore::driver
