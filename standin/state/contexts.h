#pragma once
// Contexts, primary ones above all, and which one is current for the calling thread.

#include <cstdint>
#include <set>
#include <vector>

#include "standin/facts/gpus.h"
#include "standin/state/handles.h"

namespace polypath::standin {

struct Context {
  ContextPointer handle = nullptr;
  int ordinal = 0;  ///< of its GPU, among the visible ones
  PlaceId gpu;
  bool primary = false;
  unsigned flags = 0;
  std::uint64_t id = 0;
  std::set<ContextPointer> peers;  ///< whose memory it may reach
};

class Contexts {
 public:
  explicit Contexts(std::vector<Gpu> visible)
      : gpus_(std::move(visible)), primaries_(gpus_.size()) {}

  [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
  /// The GPU of an ordinal; refuses (invalid device) what is none.
  [[nodiscard]] const Gpu& gpu(Device device) const;

  /// The primary context of a GPU, made if there is none, with one holder more.
  Context& retain(Device device);
  /// One holder less. The context to be destroyed if that was the last one, else null; refuses
  /// (invalid context) if there was none.
  Context* release(Device device);
  /// The context that the next release would end; null if there is none.
  [[nodiscard]] Context* last_held(Device device);
  /// The primary context; null if it has no holder, or was reset.
  [[nodiscard]] Context* primary(Device device);
  unsigned& primary_flags(Device device);
  /// A context, by a pointer that another one had if `again` is given.
  Context& create(Device device, unsigned flags, ContextPointer again = nullptr);
  /// Ends a context; its objects and memory have been given up before.
  void destroy(const Context& context);

  /// How many contexts of this process are on the GPU.
  [[nodiscard]] std::uint64_t count(Device device) const;
  [[nodiscard]] bool is_alive(ContextPointer context) const { return contexts_.contains(context); }
  /// Refuses (context is destroyed) what is not alive, and (invalid context) null.
  Context& find(ContextPointer context) const;
  /// The calling thread's context; refuses as find does.
  Context& current() const { return find(current_pointer()); }

  // The calling thread's stack of contexts; null is on top where there is none.
  static ContextPointer current_pointer();
  static void push(ContextPointer context);
  static ContextPointer pop();
  static void set_current(ContextPointer context);

 private:
  struct Primary {
    ContextPointer context = nullptr;  ///< of all its lives, as on GPUs
    int holders = 0;
    unsigned flags = 0;
  };

  std::vector<Gpu> gpus_;
  std::vector<Primary> primaries_;
  Handles<Context, ContextPointer> contexts_{0};
  std::uint64_t last_id_ = 0;
};

}  // namespace polypath::standin
