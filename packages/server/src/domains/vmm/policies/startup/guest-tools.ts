import type { VmEntity } from '../../../virtual-machines/entity.ts'

/** Guest tools report the boot of the guest. */
export const hasTools = ({ guestTools }: Pick<VmEntity, 'guestTools'>): boolean =>
  guestTools?.isInstalled === true && guestTools.isEnabled !== false
