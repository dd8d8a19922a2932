#include "cli/terminal.hpp"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace mqcore::cli {

bool is_terminal(int descriptor) {
    const char* kind = std::getenv("TERM");
    return ::isatty(descriptor) == 1 && kind && std::strcmp(kind, "dumb") != 0;
}

bool wants_colour(int descriptor) {
    const char* refused = std::getenv("NO_COLOR");
    return is_terminal(descriptor) && !(refused && *refused);
}

} // namespace mqcore::cli
