#pragma once
// Ranges in the timelines of NVIDIA's profilers (NVTX), by whichever library of theirs there is.

namespace polypath::trace {

class Nvtx {
 public:
  /// The library of this process, opened when first asked for and never closed; null where there is
  /// none, which the log says.
  static const Nvtx* find();

  /// A range of the calling thread, up to the pop that belongs to it.
  void push(const char* name) const { (void)push_(name); }
  void pop() const { (void)pop_(); }

 private:
  int (*push_)(const char*) = nullptr;
  int (*pop_)() = nullptr;
};

}  // namespace polypath::trace
