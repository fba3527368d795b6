/** The certificate of new connections to a TLS server, found by a handshake within this process. */
import type { Server } from 'node:https'
import { type Duplex, duplexPair } from 'node:stream'
import { connect, type DetailedPeerCertificate } from 'node:tls'

const limitMillis = 10_000

export async function certificateShownBy(server: Server): Promise<string> {
  const [near, far] = duplexPair()
  // Identity is not checked: only the certificate is of interest, and no request follows.
  const socket = connect({ socket: near, rejectUnauthorized: false })
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.setTimeout(limitMillis, () => reject(new Error('the TLS handshake of the service did not end')))
      socket.once('error', reject)
      socket.once('secureConnect', () => resolve(pemOf(socket.getPeerCertificate(true))))
      server.emit('connection', withoutTimers(far))
    })
  } finally {
    socket.destroy()
    far.destroy()
  }
}

/** The server of Node calls these methods of sockets. */
function withoutTimers(stream: Duplex): Duplex {
  return Object.assign(stream, { setNoDelay: () => stream, setKeepAlive: () => stream, setTimeout: () => stream })
}

function pemOf(leaf: DetailedPeerCertificate): string {
  const shown: Buffer[] = []
  for (let one: DetailedPeerCertificate | undefined = leaf; one !== undefined; one = one.issuerCertificate) {
    const { raw } = one
    if (shown.some((earlier) => earlier.equals(raw))) break
    shown.push(raw)
  }
  return shown.map((raw) => `-----BEGIN CERTIFICATE-----\n${lines(raw)}\n-----END CERTIFICATE-----\n`).join('')
}

const lines = (raw: Buffer): string => (raw.toString('base64').match(/.{1,64}/g) ?? []).join('\n')
