/** Source: behaviour clustermgmt.md 1.3 (validateNode). */
import type { ValueOf } from '@hyperplane/contract'
import type { ValidateNodeParam } from '@hyperplane/contract/clustermgmt/unconfigured-node'
import { defineTask } from '../../context.ts'
import { bundleFor } from './hypervisors.ts'
import { addressDisagreements, disagreements, nameOfNode, nodeNamed, refuseWith } from './nodes.ts'
import { keepResult } from './task-results.ts'
import { planUplinks, switchesOf } from './uplinks.ts'

type Spec = ValueOf<typeof ValidateNodeParam>['spec']
type UplinksOfNode = Extract<Spec, readonly unknown[]>
type Bundle = Exclude<Spec, readonly unknown[]>

const unknownNode = (path: string, name: string): string =>
  `${path}: expected a node that can be discovered, found ${name}`

export const validateUplinks = defineTask<{ readonly clusterExtId: string; readonly nodes: UplinksOfNode }>({
  name: 'clustermgmt.validate-node-uplinks',
  steps: [
    {
      name: 'validate uplinks',
      seconds: [10, 25],
      run: async (ctx, { clusterExtId, nodes }) => {
        const switches = await switchesOf(ctx, clusterExtId)
        const discovered = ctx.drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY)
        const main = switches.find(({ row }) => row.isDefault === true)
        const faults = nodes.flatMap(({ cvmIp, hypervisorIp, networks }, index) => {
          const path = `spec[${index}]`
          const node = nodeNamed(discovered, { cvmIp })
          if (node === undefined) return [unknownNode(`${path}/cvmIp`, nameOfNode({ cvmIp }))]
          const { uplinks, faults: found } = planUplinks(ctx, switches, node.nodeUuid, networks, `${path}/networks`)
          const named = networks.some(({ name, vswitchExtId }) => {
            const mainNames = [main?.bridge, main?.row.name, main?.row.extId]
            return mainNames.includes(name) || mainNames.includes(vswitchExtId)
          })
          return [
            ...addressDisagreements(node, { hypervisorIp }, path),
            ...found,
            ...(main === undefined || named || uplinks.length === 0
              ? []
              : [`${path}/networks: expected ${main.bridge} (${main.row.name}), over which hosts are managed`]),
          ]
        })
        refuseWith(faults)
      },
    },
  ],
})

export const validateBundle = defineTask<Bundle & { readonly clusterExtId: string }>({
  name: 'clustermgmt.validate-node-bundle',
  steps: [
    {
      name: 'validate bundle',
      seconds: [10, 25],
      run: async ({ drivers }, { clusterExtId, bundleInfo, nodeList }) => {
        const bundle = bundleFor(drivers, clusterExtId)
        const discovered = drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY)
        refuseWith([
          ...(bundleInfo.name === bundle.name
            ? []
            : [
                `spec/bundleInfo/name: expected ${bundle.name}, with which the hosts were imaged; found ${bundleInfo.name}`,
              ]),
          ...nodeList.flatMap((given, index) => {
            const path = `spec/nodeList[${index}]`
            const node = nodeNamed(discovered, given)
            if (node === undefined) return [unknownNode(path, nameOfNode(given))]
            return [...disagreements(node, given, path), ...addressDisagreements(node, given, path)]
          }),
        ])
        return bundle.md5Sum
      },
      record: (ctx, _, md5Sum: string) => keepResult(ctx, 'VALIDATE_BUNDLE_INFO', { md5Sum }),
    },
  ],
})
