import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:net'
import type { Clock } from '../core/time/clock.ts'
import { AnswerHeads } from './answers/head.ts'
import { Refusals } from './answers/refusals.ts'
import { Arrivals } from './arrivals.ts'
import type { ServerCertificate } from './certificates/make.ts'
import { ConsoleSockets } from './consoles.ts'
import type { Site } from './exchange.ts'
import { type HandlerOptions, RequestHandler } from './handler.ts'
import { Origins, originAt } from './origins.ts'
import type { Profile } from './profiles/names.ts'
import { Sites } from './sites.ts'
import { BrokenConnections } from './wire/broken.ts'
import { HttpServers, type HttpServersOptions, type RequestListener } from './wire/http-servers.ts'
import { KeptShapes } from './wire/kept-shapes.ts'
import { Lingering } from './wire/linger.ts'
import { Ports } from './wire/ports.ts'
import { WorldPorts } from './wire/world-ports.ts'

export interface HttpServerOptions extends Pick<HandlerOptions, 'controlSite' | 'pages' | 'observe' | 'log'> {
  readonly host: string
  readonly port: number
  readonly tls?: HttpServersOptions['tls']
  readonly names: Profile
  readonly publicUrl: string | undefined
  /** By name in lower case; `default` always has one. */
  readonly worldSite: (name: string) => Site | undefined
  readonly setTimer: Clock['setTimer']
  /** Standbys forward connections to this Unix socket; undefined: none may. */
  readonly standbySocket: string | undefined
}

export interface HttpServer {
  /** @param open listens on the port already, and gets no further connections */
  listen(open?: Server): Promise<{ url: string }>
  /** Opens a port for one world. @param port 0: a free one */
  listenFor(world: string, port: number): Promise<number>
  /** Also closes its connections. */
  unlisten(port: number): void
  /** PEM, from the next connection on; none: clients are not asked for certificates. */
  requestCertificates(authorities: readonly string[]): void
  /** The default certificate, from the next connection on. Needs TLS. */
  useCertificate(certificate: ServerCertificate): void
  /** PEM: the default certificate and its issuers, as a handshake shows them. Needs TLS. */
  shownCertificate(): Promise<string>
  /** Pending requests end first. */
  close(): Promise<void>
}

export function createApiServer(options: HttpServerOptions): HttpServer {
  const { host, names: profile, publicUrl, tls } = options
  const scheme = tls === undefined ? 'http' : 'https'
  const lingering = new Lingering(options.setTimer)
  const worldPorts = new WorldPorts()
  const sites = new Sites(options.worldSite, worldPorts)
  const origins = new Origins({ scheme, publicUrl, worldPorts })
  const heads = new AnswerHeads()
  const refusals = new Refusals({ profile, sites, origins, heads, lingering })
  const broken = new BrokenConnections(lingering, (fault) => refusals.text(fault))
  const { controlSite, pages, observe, log } = options
  const handler = new RequestHandler({
    ...{ profile, sites, controlSite, pages, observe, log },
    ...{ origins, heads, refusals, lingering, worldPorts },
  })
  const shapes = new KeptShapes()
  const arrivals = new Arrivals((request, response) => void handler.handle(request, response))

  const unlessClosing =
    (listener: RequestListener): RequestListener =>
    (request, response) => {
      if (lingering.isClosing(request.socket)) return
      broken.note(response)
      listener(request, response)
    }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    worldPorts.note(response)
    shapes.note(response)
    arrivals.add(request, response)
  }
  const consoles = new ConsoleSockets({
    ...{ sites, origins, worldPorts, broken, lingering, log, setTimer: options.setTimer },
  })
  const servers = new HttpServers({
    onRequest: unlessClosing(onRequest),
    onPlainRequest: unlessClosing((request, response) => refusals.sendPlainHttp(request, response)),
    broken,
    consoles,
    tls,
  })
  const ports = new Ports(host, servers, worldPorts)

  return {
    async listen(open) {
      origins.port = await ports.listen(open ?? options.port)
      if (options.standbySocket !== undefined) await ports.listenForStandbys(options.standbySocket)
      return { url: originAt(scheme, host, origins.port) }
    },
    listenFor: (world, port) => ports.listenFor(world, port),
    unlisten: (port) => ports.unlisten(port),
    requestCertificates: (authorities) => servers.requestCertificates(authorities),
    useCertificate: (certificate) => servers.useCertificate(certificate),
    shownCertificate: () => servers.shownCertificate(),
    close() {
      heads.isStopping = true
      consoles.close()
      lingering.stop()
      return ports.close()
    },
  }
}
