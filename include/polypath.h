#ifndef POLYPATH_H
#define POLYPATH_H
/* The C interface of Polypath. */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define POLYPATH_API __attribute__((visibility("default")))
#else
#define POLYPATH_API
#endif

/** The version of the library in use, "MAJOR.MINOR.PATCH". Never null; valid for ever. */
POLYPATH_API const char* polypath_version(void);

#ifdef __cplusplus
}
#endif
#endif
