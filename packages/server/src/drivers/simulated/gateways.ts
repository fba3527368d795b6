/** A gateway is up while its appliance runs on a host that answers. Source: behaviour networking.md 1.9, 3.1. */
import { drawnFrom } from '../../core/ids/draws.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { GatewayProgram, GatewayService, Gateways } from '../gateways.ts'
import { secretDigest, withDigests } from '../hardware.ts'
import { isDown } from './hardware-faults.ts'
import { domainFacts } from './hypervisor/facts.ts'
import type { SimulatedWorld } from './world.ts'

type ServiceFact =
  | Exclude<GatewayService, { type: 'VPN' }>
  | {
      readonly type: 'VPN'
      readonly bgp?: Readonly<Record<string, unknown>>
      /** With digests instead of passwords. */
      readonly interior?: object
    }

type GatewayFact = Omit<GatewayProgram, 'service'> & { readonly service: ServiceFact }

/** By gateway id: the start of the appliance after which its agent answered at once. */
interface AgentFact {
  readonly startedAt: number
}

/** From the start of the appliance until its agent answers. */
const bootSeconds = [10, 30] as const

export const gatewayFacts = (world: SimulatedWorld) => ({
  gateways: world.collection<GatewayFact>('fabric.gateway'),
  agents: world.collection<AgentFact>('fabric.gateway-agent'),
})

export function createGateways(world: SimulatedWorld, isInstant: boolean): Gateways {
  const { gateways, agents } = gatewayFacts(world)
  const { clock } = world
  return {
    configureGateway: async (program) => gateways.put(program.extId, factOf(program)),
    async removeGateway(gatewayExtId) {
      await gateways.remove(gatewayExtId)
      await agents.remove(gatewayExtId)
    },
    async awaitAgent(gatewayExtId, vmExtId) {
      for (;;) {
        const { startedAt, isDown } = applianceOf(world, vmExtId)
        if (startedAt === undefined || isDown)
          throw DriverError.retryable('the appliance of the gateway does not answer')
        if (isInstant) return agents.put(gatewayExtId, { startedAt })
        const answersAt = agentAnswersAt(world, gatewayExtId, vmExtId, startedAt)
        if (answersAt <= clock.now()) return
        // Whole milliseconds: a clock that is moved by hand would not pass a shorter rest.
        await clock.sleep(Math.ceil(answersAt - clock.now()))
      }
    },
    async gateway(gatewayExtId) {
      const program = gateways.get(gatewayExtId)
      if (program === undefined) return undefined
      const isOff = applianceOf(world, program.vmExtId).startedAt === undefined
      const { reason } = serviceOf(world, gatewayExtId)
      return { isUp: reason === undefined, isOff, ...(reason !== undefined && { reason }) }
    },
  }
}

function factOf({ service, ...program }: GatewayProgram): GatewayFact {
  if (service.type !== 'VPN') return { ...program, service }
  const { interior, bgp: { password, ...bgp } = {} } = service
  const passwordDigest = password === undefined ? {} : { passwordDigest: secretDigest(program.extId, password) }
  return {
    ...program,
    service: {
      type: 'VPN',
      ...(service.bgp !== undefined && { bgp: { ...bgp, ...passwordDigest } }),
      ...(interior !== undefined && { interior: withDigests(program.extId, interior) }),
    },
  }
}

/** `startedAt` is absent while it is off. */
function applianceOf(
  world: SimulatedWorld,
  vmExtId: string,
): { readonly startedAt?: number; readonly isDown: boolean } {
  const { state, hostExtId = '', startedAt = 0, restartedAt } = domainFacts(world).get(vmExtId) ?? { state: 'OFF' }
  return { ...(state === 'ON' && { startedAt: restartedAt ?? startedAt }), isDown: isDown(world, hostExtId) }
}

function agentAnswersAt(world: SimulatedWorld, gatewayExtId: string, vmExtId: string, startedAt: number): number {
  if (gatewayFacts(world).agents.get(gatewayExtId)?.startedAt === startedAt) return startedAt
  return startedAt + 1000 * drawnFrom(`${world.seed}/appliance ${vmExtId} ${startedAt}`, bootSeconds)
}

/** The end of its boot, in the future while it boots; undefined while its appliance does not run. */
export function upFromOf(world: SimulatedWorld, gatewayExtId: string): number | undefined {
  const program = gatewayFacts(world).gateways.get(gatewayExtId)
  if (program === undefined) return undefined
  const { startedAt, isDown } = applianceOf(world, program.vmExtId)
  return isDown || startedAt === undefined ? undefined : agentAnswersAt(world, gatewayExtId, program.vmExtId, startedAt)
}

/** `reason`: why the gateway is not up. */
export function serviceOf(
  world: SimulatedWorld,
  gatewayExtId: string,
):
  | { readonly upSince: number; readonly reason?: undefined }
  | { readonly upSince?: undefined; readonly reason: string } {
  const program = gatewayFacts(world).gateways.get(gatewayExtId)
  if (program === undefined) return { reason: 'the gateway is not configured' }
  const { startedAt, isDown } = applianceOf(world, program.vmExtId)
  if (isDown) return { reason: 'the host of the gateway does not answer' }
  if (startedAt === undefined) return { reason: 'the appliance of the gateway is off' }
  const upSince = agentAnswersAt(world, gatewayExtId, program.vmExtId, startedAt)
  return world.clock.now() < upSince ? { reason: 'the appliance of the gateway boots' } : { upSince }
}
