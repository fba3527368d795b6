/** Whether an error code of Node tells of TLS: the certificate of the other side, one that was given for it, or the handshake. */
export const isTlsFault = (code: string): boolean =>
  /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME)/.test(code)
