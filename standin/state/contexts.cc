#include "standin/state/contexts.h"

#include <pthread.h>

#include <algorithm>

namespace polypath::standin {
namespace {

using Stack = std::vector<ContextPointer>;

pthread_key_t key_of_stacks() {
  pthread_key_t key = 0;
  if (pthread_key_create(&key, [](void* stack) { delete static_cast<Stack*>(stack); }) != 0)
    refuse(kOutOfMemory, "there are no more pthread keys");
  return key;
}

// Of the calling thread. Not by thread_local: the main thread's are destroyed before exit handlers
// run, and those may still call the driver.
Stack& stack() {
  static const pthread_key_t key = key_of_stacks();
  if (void* made = pthread_getspecific(key)) return *static_cast<Stack*>(made);
  auto made = std::make_unique<Stack>();
  if (pthread_setspecific(key, made.get()) != 0)
    refuse(kOutOfMemory, "the thread can keep no contexts");
  return *made.release();
}

}  // namespace

const Gpu& Contexts::gpu(Device device) const {
  if (device < 0 || static_cast<std::size_t>(device) >= gpus_.size())
    refuse(kInvalidDevice, "no visible GPU has this number");
  return gpus_[static_cast<std::size_t>(device)];
}

Context& Contexts::create(Device device, unsigned flags, ContextPointer again) {
  auto made = std::make_unique<Context>();
  Context& context = *made;
  context.gpu = gpu(device).place;
  context.ordinal = device;
  context.flags = flags;
  context.id = ++last_id_;
  context.handle = again;
  if (again != nullptr) contexts_.add_again(again, std::move(made));
  else context.handle = contexts_.add(std::move(made));
  return context;
}

Context& Contexts::retain(Device device) {
  (void)gpu(device);
  Primary& primary = primaries_[static_cast<std::size_t>(device)];
  if (!is_alive(primary.context)) {
    Context& made = create(device, primary.flags, primary.context);
    made.primary = true;
    primary.context = made.handle;
  }
  ++primary.holders;
  return find(primary.context);
}

Context* Contexts::release(Device device) {
  (void)gpu(device);
  Primary& primary = primaries_[static_cast<std::size_t>(device)];
  if (primary.holders == 0) refuse(kInvalidContext, "nobody holds this GPU's primary context");
  Context* held = this->primary(device);
  return --primary.holders == 0 ? held : nullptr;
}

Context* Contexts::last_held(Device device) {
  Context* held = primary(device);
  return primaries_[static_cast<std::size_t>(device)].holders == 1 ? held : nullptr;
}

Context* Contexts::primary(Device device) {
  (void)gpu(device);
  const Primary& primary = primaries_[static_cast<std::size_t>(device)];
  return is_alive(primary.context) ? &find(primary.context) : nullptr;
}

unsigned& Contexts::primary_flags(Device device) {
  (void)gpu(device);
  return primaries_[static_cast<std::size_t>(device)].flags;
}

void Contexts::destroy(const Context& context) {
  const auto ended = contexts_.take(context.handle);
  for (const auto& [handle, other] : contexts_.all()) other->peers.erase(ended->handle);
}

std::uint64_t Contexts::count(Device device) const {
  const auto& all = contexts_.all();
  return static_cast<std::uint64_t>(std::count_if(
      all.begin(), all.end(), [&](const auto& entry) { return entry.second->ordinal == device; }));
}

Context& Contexts::find(ContextPointer context) const {
  if (context == nullptr) refuse(kInvalidContext, "no context is current");
  return contexts_.find(context, kContextIsDestroyed);
}

ContextPointer Contexts::current_pointer() { return stack().empty() ? nullptr : stack().back(); }

void Contexts::push(ContextPointer context) { stack().push_back(context); }

ContextPointer Contexts::pop() {
  if (stack().empty()) refuse(kInvalidContext, "no context is current");
  const ContextPointer top = stack().back();
  stack().pop_back();
  return top;
}

void Contexts::set_current(ContextPointer context) {
  if (!stack().empty()) stack().pop_back();
  if (context != nullptr) stack().push_back(context);
}

}  // namespace polypath::standin
