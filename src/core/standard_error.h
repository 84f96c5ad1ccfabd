#pragma once
// stderr, as long as it is the file that the program was started with. A program may close its
// descriptors and open files of its own, of which one becomes descriptor 2.

#include <string_view>

namespace polypath {

/// Writes to descriptor 2 if that is still what it was when this library was loaded; else, and
/// where it takes nothing, the text is lost. No signal comes of it.
void write_to_stderr(std::string_view text) noexcept;

}  // namespace polypath
