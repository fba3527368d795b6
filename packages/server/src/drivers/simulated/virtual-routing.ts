/**
 * A simulated network controller with its routers, which keep working while it is down, though nothing can be programmed.
 * Source: behaviour networking.md 1.20, 3.1, 3.4.
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ControllerProgram, ControllerState, FloatingIpProgram, VirtualRouting } from '../virtual-routing.ts'
import { createBalancers } from './balancers.ts'
import { isDown } from './hardware-faults.ts'
import { createOverlayTransport } from './overlay-transport.ts'
import { type RouterFact, routerFacts } from './router-facts.ts'
import { createRouteTables, routesOfRouter } from './router-tables.ts'
import { createPolicies } from './routing-policies.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** `hostExtIds`: hosts with its agents. */
type ControllerFact = ControllerProgram & { readonly hostExtIds: readonly string[] }

interface ControllerFault {
  readonly state: 'DEGRADED' | 'DOWN'
}

export const routingFacts = (world: SimulatedWorld) => ({
  controllers: world.collection<ControllerFact>('fabric.controller'),
  controllerFaults: world.collection<ControllerFault>('fabric.controller-fault'),
  floatingIps: world.collection<FloatingIpProgram>('fabric.floating-ip'),
  routers: routerFacts(world),
})

function createControllers(world: SimulatedWorld) {
  const { controllers, controllerFaults } = routingFacts(world)

  const stateOf = (controllerExtId: string): ControllerState => {
    const controller = controllers.get(controllerExtId)
    if (controller === undefined) return 'DOWN'
    const isAnAgentSilent = controller.hostExtIds.some((host) => isDown(world, host))
    return controllerFaults.get(controllerExtId)?.state ?? (isAnAgentSilent ? 'DEGRADED' : 'UP')
  }
  const controllerAt = (extId: string): ControllerFact => {
    const controller = controllers.get(extId)
    if (controller === undefined) throw DriverError.final(`no controller ${extId}`)
    return controller
  }
  /** @throws DriverError, retryable, when no controller answers */
  const requireUp = (): void => {
    if ([...controllers.all().keys()].some((extId) => stateOf(extId) !== 'DOWN')) return
    throw DriverError.retryable('the network controller does not answer')
  }
  const calls: Pick<
    VirtualRouting,
    'deployController' | 'installAgent' | 'removeAgents' | 'removeController' | 'controllerState'
  > = {
    deployController: async (program) =>
      controllers.put(program.extId, { hostExtIds: controllers.get(program.extId)?.hostExtIds ?? [], ...program }),
    async installAgent(controllerExtId, hostExtId) {
      const controller = controllerAt(controllerExtId)
      if (controller.hostExtIds.includes(hostExtId)) return
      await controllers.put(controllerExtId, { ...controller, hostExtIds: [...controller.hostExtIds, hostExtId] })
    },
    async removeAgents(controllerExtId) {
      const controller = controllers.get(controllerExtId)
      if (controller !== undefined) await controllers.put(controllerExtId, { ...controller, hostExtIds: [] })
    },
    async removeController(controllerExtId) {
      await controllers.remove(controllerExtId)
      await controllerFaults.remove(controllerExtId)
    },
    controllerState: async (controllerExtId) => stateOf(controllerExtId),
  }
  return { requireUp, calls }
}

export function createVirtualRouting(world: SimulatedWorld): VirtualRouting {
  const policies = createPolicies(world)
  const routes = createRouteTables(world)
  const { floatingIps, routers } = routingFacts(world)
  const { requireUp, calls } = createControllers(world)

  const routerAt = (vpcExtId: string): RouterFact => {
    requireUp()
    const router = routers.get(vpcExtId)
    if (router === undefined) throw DriverError.final(`no router of the VPC ${vpcExtId}`)
    return router
  }

  return {
    ...calls,

    async programRouter(program) {
      requireUp()
      const { ports = [], translated = [] } = routers.get(program.vpcExtId) ?? {}
      await routers.put(program.vpcExtId, { program, ports, translated })
    },
    async removeRouter(vpcExtId) {
      if (routers.get(vpcExtId) === undefined) return
      requireUp()
      await policies.removeThoseOf(vpcExtId)
      await routes.removeThoseOf(vpcExtId)
      await routers.remove(vpcExtId)
    },
    async attachRouter(vpcExtId, port) {
      const router = routerAt(vpcExtId)
      const isThere = router.ports.some(({ subnetExtId }) => subnetExtId === port.subnetExtId)
      const ports = isThere
        ? router.ports.map((other) => (other.subnetExtId === port.subnetExtId ? port : other))
        : [...router.ports, port]
      await routers.put(vpcExtId, { ...router, ports })
    },
    async detachRouter(vpcExtId, subnetExtId) {
      if (routers.get(vpcExtId) === undefined) return
      const router = routerAt(vpcExtId)
      await routers.put(vpcExtId, { ...router, ports: router.ports.filter((port) => port.subnetExtId !== subnetExtId) })
    },
    async translateSources(vpcExtId, addresses) {
      if (routers.get(vpcExtId) === undefined && addresses.length === 0) return
      await routers.put(vpcExtId, { ...routerAt(vpcExtId), translated: addresses })
    },

    async installRoute(route) {
      routerAt(route.vpcExtId)
      await routes.install(route)
    },
    async removeRoute(routeExtId) {
      if (!routes.has(routeExtId)) return
      requireUp()
      await routes.remove(routeExtId)
    },
    routesOf: async (vpcExtId) => routesOfRouter(world, vpcExtId),

    async installPolicy(policy) {
      routerAt(policy.vpcExtId)
      await policies.install(policy)
    },
    async removePolicy(policyExtId) {
      if (!policies.has(policyExtId)) return
      requireUp()
      await policies.remove(policyExtId)
    },
    async clearPolicyCounters(policyExtIds) {
      requireUp()
      await policies.clear(policyExtIds)
    },

    ...createBalancers(world, routerAt, requireUp),
    ...createOverlayTransport(world, requireUp),
    ...createFloatingIps(floatingIps, routerAt, requireUp),
  }
}

function createFloatingIps(
  floatingIps: Collection<FloatingIpProgram>,
  routerAt: (vpcExtId: string) => RouterFact,
  requireUp: () => void,
): Pick<VirtualRouting, 'announceFloatingIp' | 'programFloatingIp' | 'removeFloatingIp'> {
  return {
    async programFloatingIp(floatingIp) {
      routerAt(floatingIp.vpcExtId)
      await floatingIps.put(floatingIp.extId, floatingIp)
    },
    announceFloatingIp: async () => requireUp(),
    async removeFloatingIp(floatingIpExtId) {
      if (floatingIps.get(floatingIpExtId) === undefined) return
      requireUp()
      await floatingIps.remove(floatingIpExtId)
    },
  }
}
