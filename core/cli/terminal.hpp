#pragma once
// What the terminal at hand can show.

namespace mqcore::cli {

// True when the stream is a terminal and NO_COLOR is not set.
bool wants_colour(int descriptor);
bool is_terminal(int descriptor);

} // namespace mqcore::cli
