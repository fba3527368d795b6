"""Decodes the IPFIX messages on standard input, one a line in hexadecimal, and writes them as JSON."""
import json
import sys

from netflow.ipfix import IPFIXExportPacket

templates = {}
messages = []
for line in sys.stdin:
    packet = IPFIXExportPacket(bytes.fromhex(line.strip()), templates)
    header = packet.header
    messages.append({
        'length': header.length,
        'exportTime': header.export_uptime,
        'sequence': header.sequence_number,
        'observationDomain': header.obervation_domain_id,
        'records': [record.data for record in packet.flows],
    })
json.dump(messages, sys.stdout)
