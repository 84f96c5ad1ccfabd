// Files that are not as one would wish: /dev/shm is full, others shorten what is in it, and the
// program closes descriptors that it did not open and gets their numbers for files of its own.
//
// Options: bytes, rounds.

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copies_of_all_kinds.h"
#include "own_files.h"

using namespace program;

namespace {

// A /dev/shm that is this process's alone. In a namespace of its own every user is root.
bool own_shared_memory(const char* size) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write_text("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, size) == 0;
}

// Until nothing more fits.
void fill_up() {
  const int file = open("/dev/shm/filling", O_WRONLY | O_CREAT, 0600);
  EXPECT(file >= 0);
  const std::vector<char> page(4096, 'x');
  while (write(file, page.data(), page.size()) > 0) {
  }
  close(file);
}

std::size_t wrong_copies() {
  static CopiesOfAllKinds copies(0, options().number("bytes", 64 * kMiB));
  return copies.rounds(static_cast<int>(options().number("rounds", 4)));
}

// Handles are what processes tell each other about through files.
void export_and_free() {
  for (int i = 0; i < 4; ++i) {
    const CUdeviceptr memory = memory_on(0, 4 * kMiB);
    CUipcMemHandle handle;
    CHECK(cuIpcGetMemHandle(&handle, memory));
    CHECK(cuMemFree_v2(memory));
  }
}

bool shared_memory_is_own = false;

void full_shared_memory() {
  if (!shared_memory_is_own) cannot_run("no mount namespace of one's own is allowed");
  fill_up();
  say_bytes("with a full /dev/shm", wrong_copies());
  export_and_free();
  say_bytes("afterwards", wrong_copies());
}

// As another process might: this one knows nothing of it.
void shorten_all_in_shared_memory() {
  const pid_t child = fork();
  if (child == 0) {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator("/dev/shm", ignored))
      if (entry.is_regular_file(ignored)) fs::resize_file(entry.path(), 0, ignored);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void shortened_files() {
  if (!shared_memory_is_own) cannot_run("no mount namespace of one's own is allowed");
  say_bytes("before", wrong_copies());
  shorten_all_in_shared_memory();
  say_bytes("after files were shortened", wrong_copies());
  shorten_all_in_shared_memory();
  export_and_free();
  say_bytes("and once more", wrong_copies());
}

// Descriptors of files and folders that were opened in this process. Those of the driver
// itself (devices, memory without a name) are left to it.
std::vector<int> foreign_descriptors() {
  std::vector<int> found;
  for (int number = 3; number < 256; ++number) {
    struct stat about {};
    char target[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    if (fstat(number, &about) != 0 || readlink(link.c_str(), target, sizeof target - 1) < 0)
      continue;
    const std::string name = target;
    const bool own = !name.starts_with("/memfd:") && !name.starts_with("/proc/") &&
                     !name.starts_with("/sys/") && name.find("nvidia") == std::string::npos;
    if (own && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) found.push_back(number);
  }
  return found;
}

std::set<std::string> names_behind(int descriptor) {
  struct stat about {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  if (fstat(descriptor, &about) != 0 || !S_ISDIR(about.st_mode)) return {};
  return names_in(fs::read_symlink(link).string());
}

// The numbers belong to the program afterwards: to folders where folders were.
void take_over(int number, const OwnFolder& folder) {
  struct stat about {};
  EXPECT(fstat(number, &about) == 0);
  const bool is_folder = S_ISDIR(about.st_mode);
  const std::string file = folder.path + "/own";
  const int own =
      is_folder ? open(folder.path.c_str(), O_RDONLY | O_DIRECTORY) : open(file.c_str(), O_RDWR);
  EXPECT(own >= 0 && dup2(own, number) == number);
  close(own);
}

void closed_descriptors() {
  // What is exported before is still there afterwards.
  CUipcMemHandle handle;
  const CUdeviceptr exported = memory_on(0, 4 * kMiB);
  CHECK(cuIpcGetMemHandle(&handle, exported));
  say_bytes("before", wrong_copies());
  const std::vector<int> numbers = foreign_descriptors();
  std::set<std::string> names;
  for (const int number : numbers) names.merge(names_behind(number));
  const OwnFolder folder = own_folder(names);
  for (const int number : numbers) take_over(number, folder);
  std::printf("# %zu descriptors taken over\n", numbers.size());
  export_and_free();
  CHECK(cuMemFree_v2(exported));
  say_bytes("afterwards", wrong_copies());
  export_and_free();
  std::printf("the program's folder: %s\n", untouched(folder) ? "untouched" : "changed");
  fs::remove_all(folder.path);
}

const Scenarios kScenarios = {
    {"full_shared_memory", {1, full_shared_memory}},
    {"shortened_files", {1, shortened_files}},
    {"closed_descriptors", {1, closed_descriptors}},
};

}  // namespace

// Before threads are started: they would keep the namespace that they began in.
int main(int argc, char** argv) {
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked == "full_shared_memory") shared_memory_is_own = own_shared_memory("size=64k");
  if (asked == "shortened_files") shared_memory_is_own = own_shared_memory("size=64m");
  return run_scenario(kScenarios, argc, argv);
}
