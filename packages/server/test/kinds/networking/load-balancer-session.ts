/** Requests by which suites that cover every kind reach load balancer sessions. */
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, once, updating } from '../../support/field-bases.ts'
import {
  balancerBody,
  balancers,
  demoBalancer,
  dynamic,
  nicOf,
  port,
  staticIp,
  tcp,
  toWebTier,
} from '../../support/load-balancers.ts'
import type { TestApp } from '../../support/start-app.ts'
import { made } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const broken = { listener: tcp({ portRanges: [port(90, 80)] }) }

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createLoadBalancerSession': { path: balancers, body: (name) => balancerBody(name) },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createLoadBalancerSession': {
    path: '/config/load-balancer-sessions',
    body: balancerBody('by-order', { vpcReference: unknown }),
    broken,
  },
  'networking.updateLoadBalancerSessionById': {
    path: demoBalancer.slice('/networking/v4.3'.length),
    body: balancerBody('by-order', { metadata: { categoryIds: [unknown] } }),
    broken,
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-load-balancer-session': async () => ({
    method: 'POST',
    path: balancers,
    body: balancerBody('killed'),
  }),
  'networking.delete-load-balancer-session': async (app) =>
    deleting(await made(app, balancers, balancerBody('killed'))),
  // The virtual IP changes, and with it the lease.
  'networking.update-load-balancer-session': async (app) =>
    changing(app, await made(app, balancers, balancerBody('killed')), {
      listener: tcp({ virtualIP: staticIp('192.168.10.6'), portRanges: [port(81)] }),
      targetsConfig: toWebTier(8080),
    }),
}

let lastAddress = 200
const withStaticIp = () =>
  balancerBody(named(), {
    type: 'NETWORK_LOAD_BALANCER',
    algorithm: 'FIVE_TUPLE_HASH',
    listener: tcp({ virtualIP: staticIp(`192.168.10.${++lastAddress}`) }),
  })
const toNic = async (app: TestApp, vm: string): Promise<object> => ({
  nicTargets: [{ virtualNicReference: await nicOf(app, vm), port: 8080 }],
})

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createLoadBalancerSession': [
    creating(balancers, withStaticIp),
    async (app) => ({
      path: balancers,
      body: balancerBody(named(), { targetsConfig: await toNic(app, 'web-01') }),
    }),
  ],
  'networking.updateLoadBalancerSessionById': [
    updating(balancers, withStaticIp),
    async (app) => {
      const path = await once(app, 'balancer that is written anew', () => made(app, balancers, withStaticIp()))
      return { path, body: withStaticIp() }
    },
    // Each turns NIC targets into category targets, or the reverse.
    async (app) => {
      const targetsConfig = await toNic(app, 'db-01')
      const path = await once(app, 'balancer of a NIC', () =>
        made(app, balancers, balancerBody(named(), { targetsConfig })),
      )
      return { path, body: balancerBody(named()) }
    },
    async (app) => {
      const path = await once(app, 'balancer of a tier', () => made(app, balancers, balancerBody(named())))
      return { path, body: balancerBody(named(), { targetsConfig: await toNic(app, 'db-01') }) }
    },
  ],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.balancer': ({ ids }) => ids('LoadBalancerSession'),
  'fabric.balancer-health': ({ ids }) => ids('LoadBalancerSession'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createLoadBalancer: (asking) =>
    walk.post(balancers, balancerBody(walk.name(asking, 'balancer'), someListener(asking))),
  changeLoadBalancer: (asking) => walk.put(asking, asking.model.path(asking.draw, balancers), someListener(asking)),
  deleteLoadBalancer: walk.removing(balancers),
}

export const walkEntities = { [balancers]: ['load-balancer-session/web-lb'] }

/** Few addresses and ports, so that sessions share and clash. */
const someListener = ({ draw }: walk.Asking): object => ({
  listener: tcp({
    portRanges: [port(draw.of([80, 443]))],
    virtualIP: draw.of([dynamic, staticIp('192.168.10.6'), staticIp('192.168.10.7')]),
  }),
})

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'networking.update-load-balancer-session': 'the health checks remember the targets that were checked meanwhile',
}
