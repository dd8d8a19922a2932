#ifndef SHARED_H
#define SHARED_H

#define SHARED_API __attribute__((visibility("default")))
SHARED_API extern int shared_state;
SHARED_API int shared_version(void);
SHARED_API int shared_count(void); /* one more than at the last call; the first says VERSION + 1 */

#endif
