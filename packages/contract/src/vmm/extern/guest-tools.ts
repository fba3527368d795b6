/** Source: catalogue vmm.json; behaviour vmm.md 1.5, 1.7. */
import * as s from '../../schema.ts'
import { guestInfo, guestTools, guestToolsBodies } from '../vm/guest/guest-tools.ts'

export const ExternGuestTools = s.object('vmm.v4.extern.config.NutanixGuestTools', {
  ...guestTools,
  guestInfo: s.readOnly(s.object('vmm.v4.extern.config.GuestInfo', guestInfo)),
})

const bodies = guestToolsBodies('vmm.v4.extern.config.Nutanix')

export const ExternGuestToolsInsertConfig = s.object(
  'vmm.v4.extern.config.NutanixGuestToolsInsertConfig',
  bodies.insert,
)
export const ExternGuestToolsInstallConfig = s.object(
  'vmm.v4.extern.config.NutanixGuestToolsInstallConfig',
  bodies.install,
)
export const ExternGuestToolsUpgradeConfig = s.object(
  'vmm.v4.extern.config.NutanixGuestToolsUpgradeConfig',
  bodies.upgrade,
)
