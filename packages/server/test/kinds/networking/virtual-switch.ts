/** Requests by which suites that cover every kind reach virtual switches. */
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { hostId } from '../../support/clustermgmt.ts'
import type { FactOwner } from '../kind.ts'

/** The demo's bridges that no virtual switch has. */
const freeBridges = ['a', 'b', 'c', 'd'].map((letter) => `${hostId(`hp-n01-${letter}`)}/br2`)

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.bridge': async ({ all }) =>
    new Set([
      ...freeBridges,
      ...(await all(VirtualSwitch)).flatMap(({ clusters }) =>
        clusters.flatMap(({ hosts }: any) => hosts.map((host: any) => `${host.extId}/${host.internalBridgeName}`)),
      ),
    ]),
}
