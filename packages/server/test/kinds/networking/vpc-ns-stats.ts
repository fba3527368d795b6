import type { FactOwner } from '../kind.ts'

/** The history of flows outlives what it is about. */
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'flows.attachment': 'nobody',
  'flows.floating-ip': 'nobody',
  'flows.mirror': 'nobody',
  'flows.nic': 'nobody',
  'flows.policy': 'nobody',
  'flows.redirection': 'nobody',
  'flows.tunnel': 'nobody',
}
