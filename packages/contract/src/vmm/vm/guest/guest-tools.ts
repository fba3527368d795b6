/** Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import * as s from '../../../schema.ts'
import { FQDN } from '../../../shapes.ts'

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
  capabilities: s.optional(s.arrayOf(s.enumeration(['SELF_SERVICE_RESTORE', 'VSS_SNAPSHOT']), { maxItems: 2 })),
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
