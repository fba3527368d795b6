/** Reasons why no other host can restart a VM. Source: behaviour vmm.md 1.13, 3.2 (HA). */
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { isEmulated } from '../../../virtual-machines/virtual-functions.ts'

/** `device`: a PCIe device or a network function of the host. */
export type Binding = 'gpu' | 'device' | 'agent'

export function bindingsOf({ isAgentVm, gpus = [], pcieDevices = [], nics = [] }: VmEntity): Binding[] {
  const found: Binding[] = []
  if (gpus.some(({ mode }) => mode !== 'VIRTUAL')) found.push('gpu')
  if (pcieDevices.length > 0 || nics.some((nic) => !isEmulated(nic))) found.push('device')
  if (isAgentVm === true) found.push('agent')
  return found
}
