#pragma once
// The file behind the ledger: a page for each process, and before them one that says until when
// each of them counts, so that where nobody is at work a look at that one is all.
//
// Whatever becomes of other processes, of the file and of this one's descriptors, it must neither
// stop nor kill anybody:
//
// - Whose a slot is says a lock on a byte of the file, which the kernel gives up with the process,
//   however it ends. Nobody waits for one, and nobody needs to know process numbers, which mean
//   something else in every namespace. The lock hangs on the mapping: not on a descriptor, which
//   the program may close, and which forked children would go on holding.
// - The mapping is never touched but by the kernel (process_vm_readv from this process into this
//   process). Where the file has been cut short by others, or has no room left, that is an error;
//   the processor would raise SIGBUS. pread would say so too, but needs a descriptor, whose number
//   the program may have given to a file of its own, before or after any check. Measured on tmpfs,
//   us: a look where nobody is at work 0.6 (fstat and pread 0.4), publishing 0.8 (fstat and two
//   pwrite 0.8), what one other process has in flight 1.9, seven 3.9.
// - A slot has a checksum. Whoever reads while it is written reads again.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace polypath {

/// A transfer in flight, as other processes see it.
struct LedgerEntry {
  static constexpr std::size_t kMostUses = 24;
  struct Use {
    std::uint64_t resource = 0;  ///< hash of its node-wide name
    double rate = 0;             ///< bytes per second taken of it
  };

  std::uint64_t source = 0;       ///< hash of the place's node-wide name
  std::uint64_t destination = 0;  ///< likewise
  std::uint64_t bytes = 0;
  double duration = 0;  ///< by itself
  double end = 0;
  double back_until = 0;  ///< see LoadTracker; zero if it met none the other way
  std::uint64_t uses = 0;
  std::array<Use, kMostUses> use{};
};

class LedgerTable {
 public:
  static constexpr std::size_t kMostProcesses = 64;
  static constexpr std::size_t kMostEntries = 8;  ///< of a process
  /// Seconds for which a process that has published counts as alive without a look whether it is:
  /// a look takes 1.4 us.
  static constexpr double kBelieved = 0.02;

  /// Opens or makes the file and takes a slot. See `problem`.
  explicit LedgerTable(const std::string& folder);
  LedgerTable(const LedgerTable&) = delete;
  LedgerTable& operator=(const LedgerTable&) = delete;
  ~LedgerTable();

  /// Why it cannot be used, in words; empty if it can. Then nothing is written or seen.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// What this process has in flight at `now`, in place of what it said before; the last ones if
  /// there are more than fit.
  void publish(const std::vector<LedgerEntry>& entries, double now);
  /// The entries of all other processes that still run, if one of a process's is not over.
  [[nodiscard]] std::vector<LedgerEntry> others(double now) const;

 private:
  struct Row;
  struct Slot;
  struct Part;
  struct Layout;
  using Rows = std::array<Row, kMostProcesses>;
  using SlotNumbers = std::vector<std::size_t>;

  /// Of a file, whatever its name.
  struct Identity {
    std::uint64_t device = 0, number = 0;
    bool operator==(const Identity&) const = default;
  };

  [[nodiscard]] std::string open(const std::string& folder);
  [[nodiscard]] std::string take_slot(int file);
  [[nodiscard]] std::string map(int file);
  [[nodiscard]] bool write(const LedgerEntry* entries, const Row& row);
  [[nodiscard]] bool is_usable() const;
  [[nodiscard]] SlotNumbers running(const Rows& rows, double now) const;
  [[nodiscard]] SlotNumbers read(const SlotNumbers& wanted, const Rows& rows,
                                 std::vector<LedgerEntry>& seen) const;
  [[nodiscard]] bool fetch(std::vector<Part>& parts, std::vector<LedgerEntry>& entries) const;
  [[nodiscard]] bool has_owner(std::size_t slot) const;

  std::string problem_;
  std::string path_;
  Identity file_;
  Layout* mapped_ = nullptr;  ///< not to be touched
  std::size_t own_ = 0;       ///< slot
  int process_;               ///< that took it, by number
  int generation_;            ///< of that process
};

}  // namespace polypath
