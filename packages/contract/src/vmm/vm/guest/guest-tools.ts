/** Guest tools of a VM. VMs on external hypervisors share the fields. Source: catalogue vmm.json; behaviour vmm.md 1.5, 2. */
import * as s from '../../../schema.ts'
import { FQDN } from '../../../shapes.ts'

const capabilities = s.optional(
  s.arrayOf(s.enumeration(['SELF_SERVICE_RESTORE', 'VSS_SNAPSHOT']), { maxItems: 2, uniqueItems: true }),
)

export const guestInfo = {
  guestOsFullName: s.optional(s.text()),
  guestOsBuildNumber: s.optional(s.text()),
  dnsName: s.optional(FQDN),
  lastBootUpTime: s.optional(s.timestamp()),
  installedVirtIoVersion: s.optional(s.text()),
  isVmMobilityDriversInstalled: s.optional(s.boolean()),
} as const

export const guestTools = {
  isEnabled: s.optional(s.boolean()),
  capabilities,
  availableVersion: s.readOnly(s.text()),
  version: s.readOnly(s.text()),
  guestOsVersion: s.readOnly(s.text()),
  isInstalled: s.readOnly(s.boolean()),
  isIsoInserted: s.readOnly(s.boolean()),
  isReachable: s.readOnly(s.boolean()),
  isVssSnapshotCapable: s.readOnly(s.boolean()),
  isVmMobilityDriversInstalled: s.readOnly(s.boolean()),
} as const

export const GuestTools = s.object('vmm.v4.ahv.config.GuestTools', {
  ...guestTools,
  isCommunicationActiveOverSerialPort: s.readOnly(s.boolean()),
  guestInfo: s.readOnly(s.object('vmm.v4.ahv.config.GuestInfo', guestInfo)),
})

/** `type`: without its last word, as in `RebootPreferenceSchedule`. */
const rebootPreference = (type: string) =>
  s.optionalObject(type, {
    scheduleType: s.optional(s.enumeration(['SKIP', 'IMMEDIATE', 'LATER'])),
    /** For LATER. */
    schedule: s.optionalObject(`${type}Schedule`, { startTime: s.optional(s.timestamp()) }),
  })

/** Bodies of the actions. `prefix`: beginning of the names of their types. */
export const guestToolsBodies = (prefix: string) => ({
  insert: { capabilities },
  install: {
    capabilities,
    credential: s.optionalObject(`${prefix}Credential`, {
      username: s.optional(s.text({ maxLength: 256 })),
      password: s.secret(s.text({ maxLength: 1024 })),
    }),
    rebootPreference: rebootPreference(`${prefix}RebootPreference`),
  },
  upgrade: { rebootPreference: rebootPreference(`${prefix}RebootPreference`) },
})

const bodies = guestToolsBodies('vmm.v4.ahv.config.')

export const GuestToolsInsertConfig = s.object('vmm.v4.ahv.config.GuestToolsInsertConfig', {
  ...bodies.insert,
  /** The tools are installed: the ISO has their configuration only. */
  isConfigOnly: s.withDefault(s.boolean(), false),
})
export const GuestToolsInstallConfig = s.object('vmm.v4.ahv.config.GuestToolsInstallConfig', bodies.install)
export const GuestToolsUpgradeConfig = s.object('vmm.v4.ahv.config.GuestToolsUpgradeConfig', bodies.upgrade)
