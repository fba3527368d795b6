/** The tools inside the guest of a virtual machine. Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import { arrayOf, boolean, enumeration, object, optional, readOnly, text, timestamp } from '../../../schema.ts'
import { FQDN } from '../../../shapes.ts'

export const guestInfo = {
  guestOsFullName: optional(text()),
  guestOsBuildNumber: optional(text()),
  dnsName: optional(FQDN),
  lastBootUpTime: optional(timestamp()),
  installedVirtIoVersion: optional(text()),
  isVmMobilityDriversInstalled: optional(boolean()),
} as const

/** Fields that the guest tools of native and external virtual machines share. */
export const guestTools = {
  isEnabled: optional(boolean()),
  capabilities: optional(arrayOf(enumeration(['SELF_SERVICE_RESTORE', 'VSS_SNAPSHOT']), { maxItems: 2 })),
  availableVersion: readOnly(text()),
  version: readOnly(text()),
  guestOsVersion: readOnly(text()),
  isInstalled: readOnly(boolean()),
  isIsoInserted: readOnly(boolean()),
  isReachable: readOnly(boolean()),
  isVssSnapshotCapable: readOnly(boolean()),
  isVmMobilityDriversInstalled: readOnly(boolean()),
} as const

export const GuestTools = object('vmm.v4.ahv.config.GuestTools', {
  ...guestTools,
  isCommunicationActiveOverSerialPort: readOnly(boolean()),
  guestInfo: readOnly(object('vmm.v4.ahv.config.GuestInfo', guestInfo)),
})
