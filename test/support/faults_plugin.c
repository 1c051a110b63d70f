/* Actions for tests that make trouble for one server, on its own thread:
 *   hide   puts an empty file system over the folder $DAMARIS_TEST_HIDE, for this server alone, as a node that lost its mount would have
 *   show   takes it away again
 *   stay   writes $DAMARIS_TEST_LOG.stays and holds the server until $DAMARIS_TEST_LOG.go exists, at most twenty seconds
 *   die    ends the process as a crash does
 *   leave_child   forks a child that lives until $DAMARIS_TEST_LOG.go exists, at most twenty seconds
 */
#define _GNU_SOURCE
#include <damaris/plugin.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

static int namespace_before = -1;

static int failed(const dc_host_t* host, const char* what) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
  host->fail(host->self, text);
  return DC_E_PLUGIN;
}

DC_PLUGIN_EXPORT int hide(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  (void)event, (void)step;
  namespace_before = open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (namespace_before < 0 || unshare(CLONE_NEWNS) != 0) return failed(host, "no mounts of its own");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return failed(host, "no private mounts");
  return mount("tmpfs", getenv("DAMARIS_TEST_HIDE"), "tmpfs", 0, "size=64k") == 0 ? DC_OK : failed(host, "mount");
}

DC_PLUGIN_EXPORT int show(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  char folder[4096];
  (void)event, (void)step;
  if (getcwd(folder, sizeof folder) == NULL || setns(namespace_before, CLONE_NEWNS) != 0)
    return failed(host, "the mounts of before");
  close(namespace_before);
  return chdir(folder) == 0 ? DC_OK : failed(host, "the folder of before");
}

static void path_of(char* path, size_t size, const char* suffix) {
  const char* log = getenv("DAMARIS_TEST_LOG");
  snprintf(path, size, "%s.%s", log == NULL ? "" : log, suffix);
}

static void wait_for_go(void) {
  char path[4096];
  const struct timespec moment = {0, 1000000};
  path_of(path, sizeof path, "go");
  for (int tries = 0; tries < 20000 && access(path, F_OK) != 0; ++tries) nanosleep(&moment, NULL);
}

DC_PLUGIN_EXPORT int stay(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  char path[4096];
  (void)event, (void)step;
  path_of(path, sizeof path, "stays");
  const int there = open(path, O_CREAT | O_WRONLY, 0600);
  if (there < 0) return failed(host, "the mark that it stays");
  close(there);
  wait_for_go();
  return DC_OK;
}

DC_PLUGIN_EXPORT int die(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  (void)event, (void)step, (void)host;
  raise(SIGKILL);
  return DC_OK;
}

DC_PLUGIN_EXPORT int leave_child(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  (void)event, (void)step;
  const pid_t child = fork();
  if (child == 0) {
    wait_for_go();
    _exit(0);
  }
  return child > 0 ? DC_OK : failed(host, "no child");
}
