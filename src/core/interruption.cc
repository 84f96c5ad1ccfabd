#include "core/interruption.h"

#include <utility>

namespace polypath {
namespace {

thread_local const std::function<void()>* current_check = nullptr;

}  // namespace

Interruptible::Interruptible(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(current_check, &check_)) {}

Interruptible::~Interruptible() { current_check = outer_; }

void check_interruption() {
  if (current_check != nullptr) (*current_check)();
}

}  // namespace polypath
