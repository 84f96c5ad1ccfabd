#pragma once
// Memory that processes share and that no process can take away: a segment of System V, which has
// no length to be cut and no room to run out of. A mapped file has both, and raises SIGBUS then; to
// read and write one through the kernel instead (process_vm_readv), which returns an error, took 3
// us of every decision (microbenchmark; results/h200x2/ledger.json).
//
// A file tells where it is. The segment is marked for removal as soon as it is there: it lives as
// long as a process has it, and nothing is left when the last one has gone, however it went.

#include <cstddef>
#include <string>

namespace polypath::engine {

class SharedSegment {
 public:
  SharedSegment() = default;
  /// Attaches the segment that the file names; makes one, all zeros, and names it there if there is
  /// none any more. `byte` of the file is locked meanwhile, by this open file: two processes
  /// that start at the same time find the same segment. See `problem`.
  SharedSegment(int file, std::size_t bytes, std::size_t byte);
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  /// A forked child has never had it.
  ~SharedSegment();

  /// Why there is none, in words; empty if there is one.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The segment's memory; null if there is none.
  [[nodiscard]] void* data() const;

 private:
  struct Header;
  struct Record;

  [[nodiscard]] std::string find_or_make(int file, std::size_t bytes);
  [[nodiscard]] bool attach(const Record& record, std::size_t bytes);
  [[nodiscard]] std::string make(int file, std::size_t bytes);
  void detach() noexcept;

  std::string problem_ = "there is no segment";
  Header* attached_ = nullptr;
  int generation_ = 0;  ///< of the process that attached it
};

/// The number of this process's name space of segments, in decimal: a file that is shared with
/// other containers must not name them one that means another there.
std::string segment_name_space();

}  // namespace polypath::engine
