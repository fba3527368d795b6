import { createHash } from 'node:crypto'
import type { Vlan } from '../network-fabric.ts'

/** From the DHCP server of an unmanaged VLAN, outside the deployment; always the same for a MAC. */
export function outsideAddressOf({ virtualSwitchExtId, tag }: Vlan, macAddress: string): string {
  const [network] = digest(`outside ${virtualSwitchExtId} ${tag}`)
  const [third = 0, fourth = 0] = digest(`guest ${macAddress.toLowerCase()}`)
  // .0.0 and .255.255 are no hosts; .0.1 is the server itself.
  return `10.${network}.${third % 255}.${2 + (fourth % 253)}`
}

const digest = (text: string): Buffer => createHash('sha1').update(text).digest()
