/** Source: behaviour networking.md 1.20, 1.22. */

import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { ControllerProgram } from '../../drivers/virtual-routing.ts'
import type { Reader } from '../../store/store.ts'
import type { ControllerEntity } from '../admission/network-controllers.ts'
import { DriverError } from '../context.ts'
import type { Phase } from './lifecycle.ts'

export async function agentHosts(store: Reader): Promise<EntityOf<typeof Host>[]> {
  return (await store.find(Host)).filter(({ hypervisor }) => hypervisor?.type === 'AHV')
}

export function controllerProgram({
  extId,
  defaultVlanStack,
  vpcGlobalConfig,
  cloudSubstrate,
}: ControllerEntity): ControllerProgram {
  return {
    extId,
    defaultVlanStack: defaultVlanStack ?? 'LEGACY',
    isOverlappingErpsEnabled: vpcGlobalConfig?.isOverlappingErpsEnabled ?? false,
    ...(cloudSubstrate === undefined ? {} : { cloudSubstrate }),
  }
}

export const controllerPhases: readonly Phase<ControllerEntity>[] = [
  {
    create: ['deploy services', 40, [20, 70]],
    update: ['configure services', 100, [2, 8]],
    delete: ['remove services', 100, [5, 20]],
    program: (ctx, controller) => ctx.drivers.networkFabric.deployController(controllerProgram(controller)),
    remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeController(extId),
  },
  {
    create: ['push agents to hosts', 80, [8, 40]],
    delete: ['remove agents', 60, [8, 40]],
    async program(ctx, controller) {
      const hosts = await agentHosts(ctx.store)
      for (const [index, { extId }] of hosts.entries()) {
        await ctx.drivers.networkFabric.installAgent(controller.extId, extId)
        await ctx.progress(40 + Math.floor((40 * (index + 1)) / hosts.length))
      }
    },
    remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeAgents(extId),
  },
  {
    create: ['wait for agents', 100, [2, 10]],
    async program(ctx, { extId }) {
      if ((await ctx.drivers.networkFabric.controllerState(extId)) !== 'DOWN') return
      throw DriverError.retryable('the network controller does not answer')
    },
  },
]
