import type { FactOwner } from '../kind.ts'

/** Initiators are outside the cluster, and the history of use outlives what it is about. */
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'blockStorage.initiators': 'nobody',
  'blockStorage.maintenance': 'nobody',
  'blockStorage.portals': ({ ids }) => ids('Cluster'),
  'blockStorage.uses': 'nobody',
}
