/* Looks at every file below a folder once, by name under its folder's descriptor: the least that a
 * tool must do that is to notice a changed file. One folder deep, as the benchmark's tree is. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count != 2) return 64;
    DIR *tree = opendir(words[1]);
    if (!tree) return 66;
    long files = 0;
    for (struct dirent *folder; (folder = readdir(tree));) {
        if (folder->d_name[0] == '.') continue;
        int descriptor = openat(dirfd(tree), folder->d_name, O_RDONLY | O_DIRECTORY);
        DIR *inside = descriptor < 0 ? NULL : fdopendir(descriptor);
        if (!inside) return 66;
        for (struct dirent *entry; (entry = readdir(inside));) {
            struct stat status;
            if (entry->d_name[0] == '.') continue;
            if (fstatat(descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW)) return 66;
            files++;
        }
        closedir(inside);
    }
    closedir(tree);
    printf("%ld files\n", files);
    return 0;
}
