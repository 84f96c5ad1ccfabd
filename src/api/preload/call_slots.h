#pragma once
// Sends the calls that one loaded library makes to functions of another: the slots through which it
// reaches them (its global offset table) get other addresses. Calls that other libraries make stay
// as they are.

#include <cstddef>

namespace polypath::preload {

/// A function that the library may call, by its exported name.
using Replacement = void* (*)(const char* symbol);

/// Gives every slot of the opened `library` whose symbol `replacement` has an answer for that
/// address. Returns how many there were; 0 too if the library's tables cannot be read. Calls that
/// are being made meanwhile go either way.
std::size_t replace_call_slots(void* library, Replacement replacement) noexcept;

}  // namespace polypath::preload
