# Runs a command (from $3 on) as root of this machine, but for what it writes to /usr, /etc and /var: that is in memory,
# below the empty folder $1, and ends with it. apt sees nothing but the packages in the folder $2; the machine has no
# policy of its own about services, and is in runlevel 5 (tests/end_to_end/test_app_install.py calls it through unshare).
set -eu
scratch=$1 packages=$2
shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs "$scratch"
for part in usr etc var; do
    mkdir -p "$scratch/$part/changes" "$scratch/$part/work"
    mount -t overlay -o "lowerdir=/$part,upperdir=$scratch/$part/changes,workdir=$scratch/$part/work" overlay "/$part"
done
rm -f /usr/sbin/policy-rc.d /etc/apt/sources.list
rm -rf /etc/apt/sources.list.d /var/lib/apt/lists/*
echo "deb [trusted=yes] file:$packages ./" >/etc/apt/sources.list
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/99-a-test # who else may not read a test's folder
rm -f /usr/sbin/runlevel
printf '#!/bin/sh\necho N 5\n' >/usr/sbin/runlevel
chmod 755 /usr/sbin/runlevel
apt-get update --quiet=2
exec "$@"
