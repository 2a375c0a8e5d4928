#!/bin/sh
# Installs the Tiercel agent on this host, or upgrades it. Run as root. All of it is one block, so
# that a download that was cut runs nothing.
{
set -eu

url=@URL@
agent_sha256=@AGENT_SHA256@
agent=@AGENT_PATH@
account=@ACCOUNT@
public_key=@PUBLIC_KEY@
match_block=@MATCH_BLOCK@
home=/var/lib/tiercel-account
policy=/etc/tiercel/agent.json
sudoers=/etc/sudoers.d/tiercel
boot_unit=/etc/systemd/system/tiercel-boot.service
boot_timer=/etc/systemd/system/tiercel-boot.timer
heat_unit=/etc/systemd/system/tiercel-heat.service
initramfs_unit=/etc/systemd/system/tiercel-initramfs
debian_hooks=/etc/initramfs-tools/hooks
debian_built=/etc/initramfs/post-update.d
dracut_modules=/usr/lib/dracut/modules.d
records=/var/lib/tiercel/initramfs
hiding_rules=/etc/udev/rules.d/61-tiercel.rules
lvm_filter=/etc/lvm/lvmlocal.conf

say() { printf '%s\n' "tiercel: $*"; }
die() { printf '%s\n' "tiercel: $*" >&2; exit 1; }

check_host() {
    [ "$(id -u)" -eq 0 ] || die "run this as root (curl ... | sudo sh)"
    [ -d /run/systemd/system ] || die "this host does not run systemd, which runs the operations"
    for tool in curl sudo visudo useradd sha256sum sshd ssh-keygen; do
        command -v "$tool" >/dev/null 2>&1 || die "$tool is missing; install it, then run this again"
    done
    check_systemd
    [ -x /usr/bin/python3 ] || die "/usr/bin/python3 is missing; install python3 (3.9 or later)"
    /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
        die "python3 is too old; the agent needs 3.9 or later"
    [ -s /etc/machine-id ] || die "/etc/machine-id is empty; run systemd-machine-id-setup"
}

# Without it the agent runs nothing. The agent itself reports an LVM or a kernel that is too old.
check_systemd() {
    systemd=$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
    [ "${systemd:-0}" -ge 236 ] ||
        die "systemd ${systemd:-of an unknown version} is too old; the agent needs 236 or later"
}

install_agent() {
    folder=$(dirname "$agent")
    mkdir -p "$folder"
    chmod 755 "$folder"
    curl -fsS --max-time 120 -o "$agent.new" "$url/agent.pyz" || die "the agent cannot be downloaded"
    printf '%s  %s\n' "$agent_sha256" "$agent.new" | sha256sum -c - >/dev/null 2>&1 || {
        rm -f "$agent.new"
        die "the downloaded agent is not the announced one; get a new enrolment command"
    }
    chown root:root "$agent.new"
    chmod 755 "$agent.new"
    mv -f "$agent.new" "$agent"
    say "agent installed at $agent"
}

install_account() {
    # The password is '*', not '!': sshd without PAM takes '!' for a locked account.
    if ! id "$account" >/dev/null 2>&1; then
        useradd --system --no-create-home --home-dir "$home" --shell /bin/sh --password '*' "$account"
    fi
    [ "$(id -u "$account")" -ne 0 ] || die "the account $account is root's; choose another"
    [ "$(getent passwd "$account" | cut -d: -f6)" = "$home" ] ||
        die "the account $account belongs to another user; choose another (manage.py enrol --account)"
    group=$(id -gn "$account")
    # Root owns all of it: the account cannot give itself more keys.
    mkdir -p "$home/.ssh"
    chown root:root "$home"
    chmod 755 "$home"
    chown root:"$group" "$home/.ssh"
    chmod 750 "$home/.ssh"
    printf 'restrict,command="sudo -n %s" %s\n' "$agent" "$public_key" >"$home/.ssh/authorized_keys.new"
    chown root:"$group" "$home/.ssh/authorized_keys.new"
    chmod 640 "$home/.ssh/authorized_keys.new"
    mv -f "$home/.ssh/authorized_keys.new" "$home/.ssh/authorized_keys"
    if command -v restorecon >/dev/null 2>&1; then restorecon -R "$home" "$agent" || true; fi
    say "account $account has the panel's key"
}

install_sudoers() {
    # "" admits the agent without arguments only.
    {
        printf 'Defaults:%s !requiretty\n' "$account"
        printf '%s ALL=(root) NOPASSWD: %s ""\n' "$account" "$agent"
    } >"$sudoers.new~"
    chmod 440 "$sudoers.new~"
    visudo -c -q -f "$sudoers.new~" || {
        rm -f "$sudoers.new~"
        die "visudo refuses the sudoers file; nothing was changed there"
    }
    mv -f "$sudoers.new~" "$sudoers"
    say "sudo lets $account run the agent, and nothing else"
}

install_policy() {
    mkdir -p "$(dirname "$policy")" /var/lib/tiercel/ops
    chmod 755 "$(dirname "$policy")"
    chmod 700 /var/lib/tiercel /var/lib/tiercel/ops
    if [ -e "$policy" ]; then
        say "policy $policy kept"
    else
        printf '%s\n' '{"vgs": [], "fast_pvs": [], "slow_pvs": []}' >"$policy"
        chmod 644 "$policy"
        say "the panel may look, but not change anything; to let it: $agent allow-vg NAME"
    fi
}

install_boot() {
    # Guests start after it: they find their caches as they were before the restart.
    cat >"$boot_unit.new" <<UNIT
[Unit]
Description=Tiercel: caches of volumes and their settings, before guests start
RequiresMountsFor=/var/lib/tiercel /etc/tiercel
After=local-fs.target lvm2-activation.service systemd-udev-trigger.service
Before=libvirtd.service virtqemud.service libvirt-guests.service
Before=xendomains.service xen-init-dom0.service pve-guests.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=$agent boot
KillSignal=SIGINT
SendSIGKILL=no
TimeoutStartSec=600

[Install]
WantedBy=multi-user.target
UNIT
    # A unit that has ended well stays active, so that the timer does nothing any more. Not by
    # Restart=, which systemd before 244 refuses for a unit of this type.
    cat >"$boot_timer.new" <<UNIT
[Unit]
Description=Tiercel: try again until every cache is back

[Timer]
OnBootSec=2min
OnUnitInactiveSec=2min
AccuracySec=10s

[Install]
WantedBy=timers.target
UNIT
    for unit in "$boot_unit" "$boot_timer"; do
        chmod 644 "$unit.new"
        mv -f "$unit.new" "$unit"
    done
    # One reload serves all: enable would make one of its own.
    systemctl enable --quiet --no-reload tiercel-boot.service tiercel-boot.timer ||
        say "warning: tiercel-boot is not enabled"
    systemctl daemon-reload
    if systemctl restart tiercel-boot.service; then
        say "bcache volumes and their settings come back after a restart of this host"
    else
        say "warning: tiercel-boot failed; see: systemctl status tiercel-boot"
    fi
    # Only now: it starts the unit at once where that has not ended well.
    systemctl restart tiercel-boot.timer ||
        say "warning: tiercel-boot.timer failed; see: systemctl status tiercel-boot.timer"
}

install_heat() {
    # It ends at once where root's policy does not allow it, and observes only what the panel names.
    cat >"$heat_unit.new" <<UNIT
[Unit]
Description=Tiercel: how soon what volumes read and write is read or written again
RequiresMountsFor=/var/lib/tiercel /etc/tiercel
After=tiercel-boot.service

[Service]
ExecStart=$agent heat
ExecStopPost=$agent clean-heat
Restart=on-failure
RestartSec=60
Nice=10
CPUQuota=10%
OOMScoreAdjust=500

[Install]
WantedBy=multi-user.target
UNIT
    chmod 644 "$heat_unit.new"
    mv -f "$heat_unit.new" "$heat_unit"
    systemctl enable --quiet --no-reload tiercel-heat.service ||
        say "warning: tiercel-heat is not enabled"
    systemctl daemon-reload
    systemctl restart tiercel-heat.service ||
        say "warning: tiercel-heat failed; see: systemctl status tiercel-heat"
    say "what volumes read and write again can be counted; to forbid it: $agent deny-heat"
}

install_initramfs() {
    # What udev and LVM must not see of guests, an initramfs must not see either. It has no use for
    # the links of volumes, and none of their rules gets into it.
    if [ -d "$debian_hooks" ]; then
        {
            printf '#!/bin/sh\n[ "$1" != prereqs ] || exit 0\nroot=$DESTDIR\n'
            copy_into_initramfs '"$version.new"'
        } >"$debian_hooks/tiercel.new"
        mkdir -p "$debian_built"
        cat >"$debian_built/tiercel.new" <<BUILT
#!/bin/sh
# Written by Tiercel: the image of this kernel was written.
[ ! -e "$records/\$1.new" ] || mv -f "$records/\$1.new" "$records/\$1"
BUILT
        for each in "$debian_hooks/tiercel" "$debian_built/tiercel"; do
            chmod 755 "$each.new"
            mv -f "$each.new" "$each"
        done
    elif [ -d "$dracut_modules" ]; then
        mkdir -p "$dracut_modules/99tiercel"
        {
            printf '#!/bin/bash\ncheck() { return 0; }\ndepends() { return 0; }\ninstall() {\n'
            printf 'local root=$initdir version=$kernel\n'
            copy_into_initramfs '"$version"'
            printf '}\n'
        } >"$dracut_modules/99tiercel/module-setup.sh"
        chmod 755 "$dracut_modules/99tiercel/module-setup.sh"
    else
        return 0
    fi
    cat >"$initramfs_unit.service.new" <<UNIT
[Unit]
Description=Tiercel: initramfs images that hide guests' disks
After=tiercel-boot.service

[Service]
Type=oneshot
ExecStart=$agent renew-initramfs
Nice=19
IOSchedulingClass=idle
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
UNIT
    cat >"$initramfs_unit.path.new" <<UNIT
[Unit]
Description=Tiercel: what hides guests' disks has changed

[Path]
PathChanged=$hiding_rules
PathChanged=$lvm_filter

[Install]
WantedBy=multi-user.target
UNIT
    for unit in "$initramfs_unit.service" "$initramfs_unit.path"; do
        chmod 644 "$unit.new"
        mv -f "$unit.new" "$unit"
    done
    systemctl enable --quiet --no-reload tiercel-initramfs.service tiercel-initramfs.path ||
        say "warning: tiercel-initramfs is not enabled"
    systemctl daemon-reload
    systemctl restart tiercel-initramfs.path ||
        say "warning: tiercel-initramfs.path failed; see: systemctl status tiercel-initramfs.path"
    say "rebuilding the initramfs, so that it hides guests' disks; this takes a minute"
    systemctl start tiercel-initramfs.service ||
        say "warning: that failed; see: journalctl -u tiercel-initramfs"
}

# The end of a hook, which has set root and version; the argument names the file of the record.
copy_into_initramfs() {
    cat <<HOOK
# Written by Tiercel. Changes made by hand are lost.
for each in "$hiding_rules" "$lvm_filter"; do
    [ -e "\$each" ] || continue
    mkdir -p "\$root\$(dirname "\$each")"
    cp -p "\$each" "\$root\$each"
done
rm -f "\$root/etc/udev/rules.d/69-tiercel.rules" "\$root/lib/udev/rules.d/69-tiercel.rules" \\
    "\$root/usr/lib/udev/rules.d/69-tiercel.rules"
mkdir -p "$records"
cat "\$root$hiding_rules" "\$root$lvm_filter" 2>/dev/null |
    sha256sum | cut -c1-64 >"$records/"$1
HOOK
}

offer_hiding() {
    # It changes a file of LVM's, so root says so.
    command -v make-bcache >/dev/null 2>&1 || return 0
    say "bcache volumes need LVM to look away from guests' disks; to let it: $agent hide-guests"
}

check_sshd() {
    settings=$(sshd -T -C "user=$account,host=localhost,addr=127.0.0.1" 2>/dev/null) || {
        say "warning: sshd -T fails; check sshd_config"
        return 0
    }
    methods=$(printf '%s\n' "$settings" | sed -n 's/^authenticationmethods //p')
    case "$methods" in
        '' | any | publickey) ;;
        *)
            say "warning: sshd demands '$methods' of $account; the panel has only a key."
            say "Add to the end of /etc/ssh/sshd_config, then reload sshd:"
            printf '%s\n' "$match_block"
            ;;
    esac
    printf '%s\n' "$settings" | grep -q '^pubkeyauthentication no' &&
        say "warning: sshd admits no keys (PubkeyAuthentication no)"
    printf '%s\n' "$settings" | grep -q '^authorizedkeysfile .*\.ssh/authorized_keys' ||
        say "warning: sshd does not read $home/.ssh/authorized_keys; see AuthorizedKeysFile"
    if printf '%s\n' "$settings" | grep -q '^allowusers ' &&
        ! printf '%s\n' "$settings" | grep -qx "allowusers $account"; then
        say "warning: AllowUsers in sshd_config does not name $account"
    fi
    return 0
}

report() {
    ssh-keygen -A >/dev/null
    key_file=/etc/ssh/ssh_host_ed25519_key.pub
    [ -r "$key_file" ] || die "$key_file is missing; the host needs an ed25519 key"
    port=$(sshd -T 2>/dev/null | sed -n 's/^port //p' | head -n 1)
    answer=$(curl -sS --max-time 60 -w '\n%{http_code}' -X POST "$url" \
        --data-urlencode "machine_id=$(cat /etc/machine-id)" \
        --data-urlencode "host_key=$(cat "$key_file")" \
        --data-urlencode "port=${port:-22}") || die "the panel cannot be reached"
    [ "$(printf '%s\n' "$answer" | tail -n 1)" = 200 ] ||
        die "the panel refuses: $(printf '%s\n' "$answer" | sed '$d')"
    say "done. Accept this fingerprint in the panel:"
    ssh-keygen -lf "$key_file"
}

main() {
    umask 022
    PATH=$PATH:/usr/sbin:/sbin
    check_host
    install_agent
    install_account
    install_sudoers
    install_policy
    install_boot
    install_heat
    install_initramfs
    offer_hiding
    check_sshd
    report
}

main "$@"
}
