/* What the cases of recorded_process share. All end the process with 99 if they fail. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

void fail(const char* what);
int open_new(const char* name);
void put(int file, size_t count);
void write_file(const char* name, size_t count);
int wait_for(pid_t child); /* its exit status; 98: it was killed */

int forks_inside(void);
int first_thread_leaves(void);
int server_leaves(void);
